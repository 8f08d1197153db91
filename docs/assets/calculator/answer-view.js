/* The answer on the page: verdict and breakdown beside the form, curve and table of cards below
   both, and what is said in their place while there is none. */

import * as answer from "./answer.js";
import { phaseBars } from "./charts.js";
import { ComparePanel } from "./compare.js";
import { el, setText } from "./dom.js";
import { CardGrid } from "./grid.js";
import { ExportPanel } from "./launch-export.js";
import { shareRow } from "./share.js";
import { OWN_CARD, encode, toCostRequest, toRequest } from "./state.js";
import { Slices, nextTask } from "./tasks.js";

const GRID_HELP =
  "Share of each card that one GPU of the set-up needs, by number of GPUs: ✓ within 95 % of the " +
  "size on the box, ≈ above that but within what the driver offers, ✕ more. Choose a cell to " +
  "judge against it; arrow keys move.";
const SPEAK_DELAY_MS = 700; // after the last key, so that a screen reader hears one answer

export class AnswerView {
  /**
   * @param {object} settings
   * @param {HTMLElement} settings.root the calculator, with the page's own answer in it
   * @param {Catalogue} settings.catalogue
   * @param {object} settings.page the page's own answer as data
   * @param {object} settings.state what that was made from
   * @param {(changes: object) => void} settings.onChange a button of the answer was used
   * @param {(state: object) => void} settings.onSwap the set-up kept takes the place of this one
   * @param {() => void} settings.onKeep the kept set-up is another
   * @param {() => void} settings.onReset everything back to the defaults
   * @param {() => void} settings.onSettings on to the settings
   * @param {(state: object) => string} settings.linkTo the link to a state
   * @param {() => string} settings.takeLink that to the present one, which the address then has
   * @param {(state: object) => Promise<object|null>} settings.estimateOf of a kept set-up
   * @param {(tool: string, state: object) => Promise<object|null>} settings.exportOf launch files
   */
  constructor({
    root,
    catalogue,
    page,
    state,
    onChange,
    onSwap,
    onKeep,
    onReset,
    onSettings,
    linkTo,
    takeLink,
    estimateOf,
    exportOf,
  }) {
    this.root = root;
    this.catalogue = catalogue;
    // What the answer on the page was made from.
    this.shown = { ...page, state, request: toRequest(state) };
    this.isCompact = false; // as inside other pages
    this.isWaiting = false; // someone waits for an answer while Python starts
    this.onChange = onChange;
    this.linkTo = linkTo;
    this.answerBox = root.querySelector("[data-tf=answer]");
    this.status = root.querySelector("[data-tf=status]");
    this.live = el("p", { class: "tf-hidden", role: "status", "aria-live": "polite" });
    this.problems = el("div", { class: "tf-notice", hidden: true });
    this.headBox = el("div", { class: "tf-head", tabindex: "-1" });
    this.changesBox = el("div");
    this.barsBox = el("div", { class: "tf-breakdown" });
    this.ledgerBox = el("div");
    this.solveBox = el("div");
    this.curveBox = el("div");
    this.runningBox = el("div");
    this.assumptionsBox = el("div");
    this.strip = el("p", { class: "tf-strip", "aria-hidden": "true" });
    this.openLink = el("a", { class: "tf-open", target: "_blank", rel: "noopener" });
    this.openLink.append("Open in the calculator");
    this.compare = new ComparePanel({
      ask: estimateOf,
      nameOf: (key, value) => catalogue.nameOf(key, value),
      cardOf: (kept) => catalogue.cardOf(kept),
      onKeep: () => {
        onKeep();
        if (this.compare.state !== null) this.say("Kept. Change a setting to compare.");
      },
      onSwap,
      onProblem: (sentence) => this.showProblems([sentence]),
    });
    this.exporter = new ExportPanel(catalogue.entries.tools, exportOf);
    this.grid = new CardGrid((card, numGpus) =>
      onChange({ ...(card === OWN_CARD ? {} : { card }), num_gpus: numGpus }),
    );
    const share = shareRow({ read: () => this.#read(), takeLink, onReset });
    this.#place(share, onSettings);
    this.#watch();
  }

  #place(share, onSettings) {
    // In place of the page's own answer, once there is one to show.
    this.answerParts = [
      this.headBox,
      this.compare.keepRow,
      this.compare.root,
      this.changesBox,
      this.barsBox,
      el(
        "div",
        { class: "tf-columns" },
        this.ledgerBox,
        el("div", {}, this.solveBox, this.runningBox),
      ),
      share,
      this.exporter.root,
      this.openLink,
    ];
    this.root
      .querySelector("[data-tf=details]")
      .replaceChildren(
        this.curveBox,
        el(
          "section",
          { class: "tf-section" },
          el("h2", { class: "tf-section-title", id: "tf-grid-title" }, "All cards"),
          el("p", { class: "tf-notes", id: "tf-grid-help" }, GRID_HELP),
          el("div", { class: "tf-scroll" }, this.grid.table),
        ),
        this.assumptionsBox,
      );
    // The answer stands before the form, and both are long.
    const skip = el(
      "button",
      { type: "button", class: "tf-skip", onclick: onSettings },
      "Skip to the settings",
    );
    this.root.prepend(skip, this.problems);
    this.root.append(this.live, this.strip);
  }

  #watch() {
    new IntersectionObserver((entries) => {
      // Until it is in the page, the page's own answer is; and only the last entry is still true.
      if (!this.headBox.isConnected) return;
      this.root.dataset.verdict = entries.at(-1).isIntersecting ? "seen" : "away";
    }).observe(this.headBox);
    // Told by the browser once it has laid the page out; to ask for it would force it to do so.
    this.curveWidth = null;
    new ResizeObserver(([entry]) => {
      const width = Math.floor(entry.contentRect.width);
      if (width === this.curveWidth) return;
      this.curveWidth = width;
      if (this.headBox.isConnected && !this.isWaiting) this.#showCurve();
    }).observe(this.curveBox);
  }

  /** The answer's card, with what of its memory can be used. */
  get #card() {
    const card = this.catalogue.cardOf(this.shown.state);
    const usable = this.shown.estimate.card?.memory_usable_bytes;
    return card === null ? null : { ...card, usable_bytes: usable };
  }

  /** A button that this answer brought goes away with it; its reader must not be left nowhere. */
  keepFocus() {
    this.isFocusLost = this.answerBox.contains(document.activeElement);
  }

  /**
   * In several tasks, so that none is long.
   *
   * @param {object} page `estimate`, `grid`, `curve` and perhaps `solve`
   * @param {object} state
   * @param {object} [settings]
   * @param {boolean} [settings.isAnswer] to the question that the controls ask now
   */
  async show(page, state, { isAnswer = true } = {}) {
    const slices = new Slices();
    const shown = { ...page, state, request: toRequest(state) };
    this.shown = shown;
    this.answerBox.classList.remove("tf-stale");
    await this.#showMain(slices);
    await slices.pause();
    if (this.shown === shown) this.#showDetails();
    await slices.pause();
    if (this.shown !== shown) return;
    if (!this.isCompact && !(await this.#showGrid(slices))) return;
    if (this.shown === shown && isAnswer) this.root.dataset.shown = encode(state);
  }

  /** The answer that is there once more, as no newer one came. */
  showAgain() {
    const showing = this.show(this.shown, this.shown.state, { isAnswer: false });
    delete this.root.dataset.shown;
    return showing;
  }

  /** Verdict, breakdown and figures: made piece by piece, and put in place at once. */
  async #showMain(slices) {
    const { shown } = this;
    const { estimate: result, state } = shown;
    const card = this.#card;
    const isLacking = result.card !== null && result.card.verdict !== "fits";
    const samples = [state["dataset.num_samples"], state["dataset.tokens_per_sample"]];
    const isHalf = samples.includes(null) && samples.some((value) => value !== null);
    const makers = {
      headline: () => answer.headline({ result, card, setup: this.#setup() }),
      changes: () =>
        isLacking && answer.changes(result.changes, (suggestion) => this.onChange(suggestion.set)),
      bars: () => phaseBars(result, card),
      legend: () => this.isCompact && answer.legend(result),
      ledger: () => answer.ledger(result),
      running: () => answer.running(result, { epochs: state["dataset.epochs"], isHalf }),
    };
    const made = await slices.map(Object.values(makers), (make) => make());
    if (this.shown !== shown) return;
    const [headline, changes, bars, legend, ledger, running] = made;
    if (!this.changesBox.isConnected) this.answerBox.replaceChildren(...this.answerParts);
    this.root.classList.remove("tf-unseen");
    this.answerBox.classList.remove("tf-waiting");
    this.headBox.replaceChildren(headline);
    this.changesBox.replaceChildren(...[changes].filter(Boolean));
    this.compare.show(state, result);
    this.barsBox.replaceChildren(...[bars, legend].filter(Boolean));
    this.ledgerBox.replaceChildren(ledger);
    this.runningBox.replaceChildren(running);
    this.#showStrip(answer.summary(result, card), `verdict-${result.card?.verdict ?? "none"}`);
    if (shown.solve !== undefined) this.showSolved(shown.solve);
    // Last, when the button that was pressed is gone.
    if (this.isFocusLost && document.activeElement === document.body) this.headBox.focus();
    this.isFocusLost = false;
  }

  /** What stands below the answer. */
  #showDetails() {
    const { estimate, state } = this.shown;
    this.openLink.href = this.linkTo(state);
    if (this.isCompact) return;
    this.#showCurve();
    this.assumptionsBox.replaceChildren(answer.assumptions(estimate));
    this.exporter.show(state);
  }

  /** The table of the page's own answer, to be filled with the figures that are waited for. */
  async prepareGrid() {
    await nextTask();
    if (this.isWaiting && !this.isCompact) await this.#showGrid(new Slices());
  }

  /** False where a newer answer took its place on the way. */
  #showGrid(slices) {
    const { estimate, grid } = this.shown;
    const selected = { card: this.#card?.id ?? null, numGpus: estimate.num_gpus };
    return this.grid.show(this.#sorted(grid), selected, slices);
  }

  /** The table's rows by memory, so that the line between what fits and what does not is a line. */
  #sorted(grid) {
    const own = this.#card;
    const { cards } = this.catalogue;
    const size = ({ id }) => (id === own?.id ? own : cards.get(id)).memory_marketed_gb;
    return { ...grid, cards: [...grid.cards].sort((left, right) => size(left) - size(right)) };
  }

  #showCurve() {
    if (this.curveWidth === null) return; // it is on its way
    const { curve, estimate, request } = this.shown;
    this.curveBox.replaceChildren(
      answer.curveSection({
        points: curve.points,
        result: estimate,
        request,
        card: this.#card,
        width: Math.max(280, this.curveWidth),
      }),
    );
  }

  /** What would fit; nothing where there is no card. */
  showSolved(solved) {
    if (solved === null) {
      this.solveBox.replaceChildren();
      return;
    }
    const { cards } = this.catalogue;
    this.solveBox.replaceChildren(
      el("h2", { class: "tf-section-title" }, "What would fit"),
      answer.solutions(solved, {
        cardName: (id) => (id === OWN_CARD ? this.#card.name : (cards.get(id)?.name ?? id)),
        onApply: ({ card, ...changes }) =>
          this.onChange(card === undefined || card === OWN_CARD ? changes : { card, ...changes }),
      }),
    );
  }

  /** The former answer stays, and is told from one to the present question. */
  showRefusal({ message }) {
    this.showAgain();
    this.answerBox.classList.add("tf-stale");
    this.#showStrip(`No answer: ${message}`);
    this.showProblems([message, "The figures below are those of the set-up that they name."]);
  }

  showProblems(sentences) {
    this.problems.hidden = sentences.length === 0;
    this.problems.replaceChildren(
      ...sentences.map((sentence) => el("p", { role: "alert" }, sentence)),
    );
  }

  /** Tells a screen reader, once the typing has stopped. */
  say(sentence) {
    clearTimeout(this.speakTimer);
    this.speakTimer = setTimeout(() => setText(this.live, sentence), SPEAK_DELAY_MS);
  }

  sayAnswer() {
    this.say(answer.summary(this.shown.estimate, this.#card));
  }

  #showStrip(text, verdict = "") {
    this.strip.className = `tf-strip ${verdict}`.trim();
    setText(this.strip, text);
  }

  /** Until Python has started, a place of waiting where the verdict will be. */
  wait() {
    if (this.isWaiting) return;
    this.isWaiting = true;
    this.status.hidden = true;
    this.root.setAttribute("aria-busy", "true");
    this.answerBox.classList.add("tf-waiting");
    this.progress ??= el("progress", { max: 1, value: 0, "aria-label": "Starting the calculator" });
    this.progressLabel ??= el("span", {}, "Starting");
    if (!this.headBox.isConnected) {
      // The page's own answer keeps the place for the one that a link asks for.
      this.answerBox.querySelector(".tf-head").replaceWith(this.headBox);
      this.root.classList.add("tf-unseen");
    }
    this.headBox.replaceChildren(
      el("p", { class: "tf-progress" }, this.progress, this.progressLabel),
    );
    this.#showStrip("Starting the calculator…");
  }

  stopWaiting() {
    this.isWaiting = false;
    this.root.removeAttribute("aria-busy");
  }

  showProgress({ label, share }) {
    if (!this.isWaiting) return; // it starts by itself, and nobody asked
    this.progress.value = share;
    setText(this.progressLabel, `${label}…`);
  }

  /** Python could not run; `onAgain` tries once more. */
  showFailure(message, onAgain) {
    const wasWaiting = this.isWaiting;
    this.stopWaiting();
    if (wasWaiting) this.showAgain();
    delete this.root.dataset.shown;
    const again = () => {
      this.status.hidden = true;
      onAgain();
    };
    this.status.hidden = false;
    this.status.replaceChildren(
      el(
        "p",
        { role: "alert", class: "tf-failure" },
        `The calculator could not run: ${message}. The answer below is the one for the set-up ` +
          "that it names; the tables of models and cards need no script. ",
        el("button", { type: "button", class: "tf-link-button", onclick: again }, "Try again"),
      ),
    );
  }

  /** The answer on the page, as those take it who pass it on. */
  #read() {
    const { estimate: result, grid, state } = this.shown;
    const request = toCostRequest(state);
    const modelName = this.catalogue.nameOf("model", request.model);
    return { result, request, state, grid, modelName, card: this.#card, link: this.linkTo(state) };
  }

  /** The set-up of the answer in one line, so that it can be quoted. */
  #setup() {
    const { estimate, request } = this.shown;
    const name = (key) => this.catalogue.nameOf(key, request[key]);
    const named = { optimizer: name("optimizer"), stack: name("stack"), card: estimate.card };
    return [name("model"), ...answer.setupWords(request, named)].join(" · ");
  }
}
