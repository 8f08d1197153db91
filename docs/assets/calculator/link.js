/* Runs before the answer is painted: the one in the page is for its defaults, and a link asks for
   another. A classic script, since modules come after the first paint. */

document.documentElement.classList.toggle("tf-has-link", location.hash.includes("="));
