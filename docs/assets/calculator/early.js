/* Runs before the answer is painted, and long before the modules: where a link asks for another
   answer than the one in the page, that one is hidden and Python starts at once. A classic script,
   since modules wait for the whole page; and behind the style sheet in the page, since Firefox
   paints what follows a style sheet in the body before that has come, unless a script waits too. */

{
  const hasLink = location.hash.includes("=");
  document.documentElement.classList.toggle("tf-has-link", hasLink);
  // Undefined until an engine has started; it lives on when instant navigation brings this again.
  if (hasLink && globalThis.trainfitEarly === undefined) {
    try {
      const url = new URL("../../calculator/worker.js", document.currentScript.src);
      const early = { worker: new Worker(url, { type: "module" }), events: [] };
      early.worker.onmessage = early.worker.onerror = (event) => early.events.push(event);
      early.worker.postMessage({ type: "start" });
      globalThis.trainfitEarly = early;
    } catch {
      // The engine tries again, and says what it meets.
    }
  }
}
