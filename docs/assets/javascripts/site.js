// What the theme leaves out for screen readers.
"use strict";
document.querySelector(".md-search[role=dialog]")?.setAttribute("aria-label", "Search");
