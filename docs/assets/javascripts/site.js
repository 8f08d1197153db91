// Names that the theme leaves out for screen readers.
"use strict";

document.querySelector(".md-search[role=dialog]")?.setAttribute("aria-label", "Search");

// A section's navigation is named by a label that holds only an icon.
for (const nav of document.querySelectorAll("nav[aria-labelledby]")) {
  const label = document.getElementById(nav.getAttribute("aria-labelledby"));
  if (label?.textContent.trim()) continue;
  nav.setAttribute("aria-label", nav.closest("li")?.querySelector("a")?.textContent.trim() ?? "Section");
  nav.removeAttribute("aria-labelledby");
}

// The theme adds a toolbar to each code block as it comes into view, all under one name.
const article = document.querySelector("article");
let blocks = 0;
function nameToolbars() {
  for (const nav of article.querySelectorAll(".md-code__nav:not([aria-label])")) {
    blocks += 1;
    nav.setAttribute("aria-label", `Code block ${blocks}`);
  }
}
if (article?.querySelector("pre > code")) {
  new MutationObserver(nameToolbars).observe(article, { childList: true, subtree: true });
  nameToolbars();
}
