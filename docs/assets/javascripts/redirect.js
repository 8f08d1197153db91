// On the page of a former name: go to the present one and keep the row id of the old address.
"use strict";
const target = document.querySelector('link[rel="canonical"]').getAttribute("href");
location.replace(target + location.search + location.hash);
