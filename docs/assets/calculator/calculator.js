/* The calculator page: state in the URL fragment, form on one side, answer on the other.

   The page arrives with the answer for its defaults already in it, and with the data of that
   answer, so charts and controls work before Python has loaded; every other answer comes from the
   core in the worker. */

import * as answer from "./answer.js";
import { phaseBars } from "./charts.js";
import { ComparePanel, applies, settingWords } from "./compare.js";
import { el, setText } from "./dom.js";
import { engine } from "./engine.js";
import { FIELD_WORDS } from "./fields.js";
import { buildForm } from "./form.js";
import { CardGrid } from "./grid.js";
import { ExportPanel } from "./launch-export.js";
import { importBox } from "./launch-import.js";
import { describeOwnModel } from "./model-input.js";
import { keepForOffline } from "./offline.js";
import { shareRow } from "./share.js";
import {
  OWN_CARD,
  changesOf,
  decode,
  defaultState,
  encode,
  ownCardName,
  toCostRequest,
  toRequest,
  withChanges,
} from "./state.js";
import { Slices, nextTask } from "./tasks.js";

const GRID_HELP =
  "Share of each card that one GPU of the set-up needs, by number of GPUs: ✓ within 95 % of the " +
  "size on the box, ≈ above that but within what the driver offers, ✕ more. Choose a cell to " +
  "judge against it; arrow keys move.";
const LINK_DELAY_MS = 250; // Safari refuses more than 100 history changes in 30 seconds
const SPEAK_DELAY_MS = 700; // after the last key, so that a screen reader hears one answer
const SOLVE_DELAY_MS = 120;
const IDLE_START_MS = 1500;

function whenIdle(callback) {
  if (globalThis.requestIdleCallback === undefined) setTimeout(callback, IDLE_START_MS);
  else requestIdleCallback(callback, { timeout: IDLE_START_MS });
}

class Calculator {
  constructor(root, start) {
    this.root = root;
    this.catalogue = start.catalogue;
    this.curveLengths = start.page.curve.points.map((point) => point.sequence_length);
    this.cards = new Map(this.catalogue.cards.map((card) => [card.id, card]));
    this.models = new Map(this.catalogue.models.map((model) => [model.id, model]));
    this.state = defaultState();
    this.view = null; // or "compact", inside other pages
    this.isFormComing = false;
    // What the answer on the page was made from.
    this.shown = { ...start.page, state: this.state, request: toRequest(this.state) };
    this.isWaiting = false; // someone waits for an answer while Python starts
    this.engine = engine;
    this.form = null; // until there is time for it
  }

  /** In several tasks, so that none is long. */
  async start() {
    await nextTask();
    this.#build();
    await nextTask();
    document.documentElement.classList.remove("tf-has-link");
    if (this.#readLink()) this.#compute();
    else this.#whileBusy(this.#showDefault());
    if (this.view !== "compact") this.#buildForm();
    this.engine.listen({
      onProgress: (progress) => this.#showProgress(progress),
      onReady: ({ files, isRestored }) => {
        this.root.dataset.python = isRestored ? "restored" : "started";
        this.engine.practise(this.#question(this.state));
        whenIdle(() => keepForOffline(this.root, files));
      },
      onFailure: (message) => this.#showFailure(message),
    });
    this.#startOnInterest();
  }

  async #showDefault() {
    const { shown } = this;
    await nextTask();
    if (this.shown === shown && !this.isWaiting) await this.#show(shown, shown.state);
  }

  #build() {
    this.answerBox = this.root.querySelector("[data-tf=answer]");
    this.status = this.root.querySelector("[data-tf=status]");
    this.live = el("p", { class: "tf-hidden", role: "status", "aria-live": "polite" });
    this.problems = el("div", { class: "tf-notice", hidden: true });
    this.headBox = el("div", { class: "tf-head", tabindex: "-1" });
    this.changesBox = el("div");
    this.compare = new ComparePanel({
      ask: (state) => this.engine.ask("kept", toCostRequest(state)),
      nameOf: (key, value) => this.#nameOf(key, value),
      cardOf: (state) => this.#cardOf(state),
      onKeep: () => {
        this.#writeLink();
        if (this.compare.state !== null) this.#say("Kept. Change a setting to compare.");
      },
      onSwap: (state) => this.#change(state),
      onProblem: (sentence) => this.#showProblems([sentence]),
    });
    this.exporter = new ExportPanel(this.catalogue.tools, (tool, state) =>
      this.engine.ask("export", { ...toRequest(state), op: "export", tool }),
    );
    this.barsBox = el("div", { class: "tf-breakdown" });
    this.ledgerBox = el("div");
    this.solveBox = el("div");
    this.curveBox = el("div");
    this.runningBox = el("div");
    this.assumptionsBox = el("div");
    this.grid = new CardGrid((card, numGpus) =>
      this.#change({ ...(card === OWN_CARD ? {} : { card }), num_gpus: numGpus }),
    );
    this.strip = el("p", { class: "tf-strip", "aria-hidden": "true" });
    this.openLink = el("a", { class: "tf-open", target: "_blank", rel: "noopener" });
    this.openLink.append("Open in the calculator");
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
      shareRow({
        read: () => this.#readAnswer(),
        takeLink: () => {
          history.replaceState(history.state, "", this.#address());
          return this.#link();
        },
        onReset: () => {
          this.state = defaultState();
          this.#change({});
        },
      }),
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
    new IntersectionObserver((entries) => {
      // Until it is in the page, the page's own answer is; and only the last entry is still true.
      if (!this.headBox.isConnected) return;
      this.root.dataset.verdict = entries.at(-1).isIntersecting ? "seen" : "away";
    }).observe(this.headBox);
    // The answer stands before the form, and both are long.
    const skip = el(
      "button",
      { type: "button", class: "tf-skip", onclick: () => this.form?.focus() },
      "Skip to the settings",
    );
    this.root.prepend(skip, this.problems);
    this.root.append(this.live, this.strip);
    addEventListener("hashchange", () => {
      if (this.#readLink()) this.#compute();
    });
    // Told by the browser once it has laid the page out; to ask for it would force it to do so.
    this.curveWidth = null;
    new ResizeObserver(([entry]) => {
      const width = Math.floor(entry.contentRect.width);
      if (width === this.curveWidth) return;
      this.curveWidth = width;
      if (this.headBox.isConnected && !this.isWaiting) this.#showCurve();
    }).observe(this.curveBox);
  }

  async #buildForm() {
    if (this.isFormComing) return;
    this.isFormComing = true;
    await nextTask();
    const form = await buildForm({
      catalogue: this.catalogue,
      onChange: (key, value) => this.#choose(key, value),
      importer: importBox({
        read: (text) => this.engine.ask("recognise", { op: "recognise", text }),
        accept: (reading) => this.#takeOver(reading),
      }),
    });
    await nextTask();
    this.form = form;
    form.show(this.state);
    this.root.querySelector("[data-tf=form]").replaceChildren(form.root);
  }

  /** Python starts when someone shows interest, or when the browser has nothing else to do. */
  #startOnInterest() {
    const start = () => this.engine.start();
    this.root.addEventListener("pointerdown", start, { once: true });
    this.root.addEventListener("keydown", start, { once: true });
    this.root.addEventListener("focusin", start, { once: true });
    whenIdle(start);
  }

  /** Takes the state of the address over; false where it holds none, or the one that is there. */
  #readLink() {
    const decoded = decode(location.hash);
    if (decoded === null && location.hash.length > 1) return false; // a heading's anchor
    const state = decoded?.state ?? defaultState();
    this.#showProblems(decoded?.problems ?? []);
    this.compare.keep(decoded?.kept ?? null);
    this.#setView(decoded?.view ?? null);
    const isOther = encode(state) !== encode(this.state) || typeof state.model !== "string";
    this.state = state;
    this.form?.show(state);
    return isOther;
  }

  /** The whole page, or the compact view for other pages: `?view=compact`, or in the link. */
  #setView(inLink) {
    this.viewInLink = inLink;
    const isCompact =
      inLink === "compact" || new URLSearchParams(location.search).get("view") === "compact";
    this.view = isCompact ? "compact" : null;
    if (isCompact) this.root.dataset.view = "compact";
    else delete this.root.dataset.view;
    // A frame that is sent to the whole page.
    if (!isCompact) this.#buildForm();
  }

  /** One control was used. A training stack brings the settings that it makes by itself. */
  #choose(key, value) {
    this.form.tell("stack", "");
    if (key === "card" && value?.memory_gb !== undefined) {
      this.#change({ "card.memory_gb": value.memory_gb });
    } else if (key === "stack") {
      this.#chooseStack(value);
    } else {
      this.#change({ [key]: value });
    }
  }

  /**
   * What a stack sets by itself takes the place of what is usual, or of what the stack before it
   * had set; never of what the visitor chose. What has changed is told at the control.
   */
  #chooseStack(id) {
    const stackOf = (wanted) => this.catalogue.stacks.find((stack) => stack.id === wanted);
    const [former, { name, defaults }] = [stackOf(this.state.stack).defaults, stackOf(id)];
    const usual = defaultState();
    const isOpen = (key) => [usual[key], former[key]].includes(this.state[key]);
    const wanted = Object.keys({ ...former, ...defaults }).filter(isOpen);
    const settings = Object.fromEntries(wanted.map((key) => [key, defaults[key] ?? usual[key]]));
    const before = this.state;
    this.#change({ stack: id, ...settings });
    const words = wanted
      .filter((key) => this.state[key] !== before[key] && applies(key, this.state))
      .map((key) => {
        const setting = settingWords(key, this.state, (...named) => this.#nameOf(...named));
        return `${FIELD_WORDS[key].label}: ${setting}`;
      });
    this.form.tell("stack", words.length === 0 ? "" : `${name} has set ${words.join("; ")}.`);
  }

  /** Sets what a file says, and returns it in words. */
  #takeOver({ recognised, implied }) {
    const changes = changesOf(recognised);
    const stack = this.catalogue.stacks.find(({ id }) => id === changes.stack);
    this.#change({ ...stack?.defaults, ...changes });
    const isImplied = new Set(implied);
    return Object.keys(FIELD_WORDS)
      .filter((key) => Object.hasOwn(changes, key))
      .map((key) => ({
        label: FIELD_WORDS[key].label,
        words: settingWords(key, this.state, (name, value) => this.#nameOf(name, value)),
        isImplied: isImplied.has(key),
      }));
  }

  #change(changes) {
    // A button that this answer brought goes away with it; its reader must not be left nowhere.
    this.isFocusLost = this.answerBox.contains(document.activeElement);
    this.state = withChanges(this.state, changes);
    this.form?.show(this.state);
    this.#showProblems([]);
    this.#writeLink();
    this.#compute();
  }

  #writeLink() {
    clearTimeout(this.linkTimer);
    this.linkTimer = setTimeout(
      () => history.replaceState(history.state, "", this.#address()),
      LINK_DELAY_MS,
    );
  }

  /** This page's address, with its view. */
  #address() {
    const address = new URL(location.href);
    address.hash = encode(this.state, { kept: this.compare.state, view: this.viewInLink });
    return address.href;
  }

  /** The link to a state, for others: to the whole page. */
  #link(state = this.state) {
    const link = new URL(location.href);
    link.search = "";
    link.hash = encode(state, { kept: this.compare.state });
    return link.href;
  }

  /** What the core is asked for everything that the page shows of a state, but for the solvers. */
  #question(state) {
    return { ...toCostRequest(state), op: "page", sequence_lengths: this.curveLengths };
  }

  #compute() {
    this.#whileBusy(this.#answer(this.state));
  }

  /** `data-busy` stands on the calculator until nothing more will come of the latest work. */
  async #whileBusy(work) {
    this.work = work;
    this.root.dataset.busy = "true";
    await work;
    if (this.work === work) delete this.root.dataset.busy;
  }

  async #answer(state) {
    if (this.engine.state !== "ready") {
      this.#wait();
      // The table of the page's own answer is there to be filled with the new figures.
      if (this.view !== "compact") this.#showGrid(new Slices());
    }
    let page;
    try {
      page = await this.engine.ask("page", this.#question(state));
    } catch (error) {
      // Where the engine failed, it has told so itself.
      if (this.engine.state !== "failed") this.#showProblems([`No answer: ${error.message}`]);
      return;
    }
    if (page === null) return; // a newer state is on its way
    this.isWaiting = false;
    this.root.removeAttribute("aria-busy");
    if (page.error !== undefined) {
      this.#showRefusal(page.error);
      return;
    }
    const showing = this.#show(page, state);
    this.#say(answer.summary(page.estimate, this.#card()));
    await Promise.all([showing, this.#solve(state)]);
  }

  /** Tells a screen reader, once the typing has stopped. */
  #say(sentence) {
    clearTimeout(this.speakTimer);
    this.speakTimer = setTimeout(() => setText(this.live, sentence), SPEAK_DELAY_MS);
  }

  async #solve(state) {
    await new Promise((resolve) => setTimeout(resolve, SOLVE_DELAY_MS));
    if (this.state !== state) return;
    if (this.#cardOf(state) === null) {
      this.solveBox.replaceChildren();
      return;
    }
    let solved;
    try {
      solved = await this.engine.ask("solve", { ...toCostRequest(state), op: "solve" });
    } catch {
      return; // the page's own answer stands without it
    }
    if (solved === null || solved.error !== undefined || this.shown.state !== state) return;
    this.#showSolved(solved);
    this.root.dataset.solved = encode(state);
  }

  /** The card that a state is judged on: of the catalog, or one of a size. */
  #cardOf(state) {
    const size = state["card.memory_gb"];
    return size === null
      ? (this.cards.get(state.card) ?? null)
      : { id: OWN_CARD, name: ownCardName(size), memory_marketed_gb: size };
  }

  #card() {
    return this.#cardOf(this.shown.state);
  }

  /** `isAnswer`: to the question that the controls ask now. */
  async #show(page, state, { isAnswer = true } = {}) {
    const slices = new Slices();
    this.#showMain(page, state);
    const { shown } = this;
    await slices.pause();
    if (this.shown === shown) this.#showDetails();
    await slices.pause();
    if (this.shown !== shown) return;
    if (this.view !== "compact" && !(await this.#showGrid(slices))) return;
    if (this.shown === shown && isAnswer) this.root.dataset.shown = encode(state);
  }

  /** Verdict, breakdown and figures. */
  #showMain(page, state) {
    const request = toRequest(state);
    this.shown = { ...page, state, request };
    const card = this.#card();
    const result = page.estimate;
    this.form?.markError(null);
    if (!this.changesBox.isConnected) this.answerBox.replaceChildren(...this.answerParts);
    this.root.classList.remove("tf-unseen");
    this.answerBox.classList.remove("tf-stale", "tf-waiting");
    this.headBox.replaceChildren(answer.headline({ result, card, setup: this.#setup() }));
    const changes =
      result.card === null || result.card.verdict === "fits"
        ? null
        : answer.changes(result.changes, (suggestion) => this.#change(suggestion.set));
    this.changesBox.replaceChildren(...(changes === null ? [] : [changes]));
    this.compare.show(state, result);
    this.barsBox.replaceChildren(
      phaseBars(result, card),
      ...(this.view === "compact" ? [answer.legend(result)] : []),
    );
    this.ledgerBox.replaceChildren(answer.ledger(result));
    this.runningBox.replaceChildren(answer.running(result, { epochs: state["dataset.epochs"] }));
    this.strip.className = `tf-strip verdict-${result.card?.verdict ?? "none"}`;
    setText(this.strip, answer.summary(result, card));
    if (page.solve !== undefined) this.#showSolved(page.solve);
    // Last, when the button that was pressed is gone.
    if (this.isFocusLost && document.activeElement === document.body) this.headBox.focus();
    this.isFocusLost = false;
  }

  /** The answer on the page, as those take it who pass it on. */
  #readAnswer() {
    const { estimate: result, grid, request, state } = this.shown;
    const modelName = this.#nameOf("model", request.model);
    return { result, request, state, grid, modelName, card: this.#card(), link: this.#link(state) };
  }

  /** What stands below the answer. */
  #showDetails() {
    const { estimate, state } = this.shown;
    this.openLink.href = this.#link(state);
    if (this.view === "compact") return;
    this.#showCurve();
    this.assumptionsBox.replaceChildren(answer.assumptions(estimate));
    this.exporter.show(state);
  }

  /** False where a newer answer took its place on the way. */
  #showGrid(slices) {
    const { estimate, grid } = this.shown;
    const selected = { card: this.#card()?.id ?? null, numGpus: estimate.num_gpus };
    return this.grid.show(this.#sorted(grid), selected, slices);
  }

  /** The table's rows by memory, so that the line between what fits and what does not is a line. */
  #sorted(grid) {
    const own = this.#card();
    const size = ({ id }) => (id === own?.id ? own : this.cards.get(id)).memory_marketed_gb;
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
        card: this.#card(),
        width: Math.max(280, this.curveWidth),
      }),
    );
  }

  #showSolved(solved) {
    this.solveBox.replaceChildren(
      el("h2", { class: "tf-section-title" }, "What would fit"),
      answer.solutions(solved, {
        cardName: (id) => (id === OWN_CARD ? this.#card().name : (this.cards.get(id)?.name ?? id)),
        onApply: ({ card, ...changes }) =>
          this.#change(card === undefined || card === OWN_CARD ? changes : { card, ...changes }),
      }),
    );
  }

  #showRefusal(error) {
    this.#show(this.shown, this.shown.state, { isAnswer: false });
    this.form?.markError(error.field);
    this.answerBox.classList.add("tf-stale");
    delete this.root.dataset.shown;
    this.strip.className = "tf-strip";
    setText(this.strip, `No answer: ${error.message}`);
    this.#showProblems([
      error.message,
      "The figures below are those of the set-up that they name.",
    ]);
  }

  #showProblems(sentences) {
    this.problems.hidden = sentences.length === 0;
    this.problems.replaceChildren(
      ...sentences.map((sentence) => el("p", { role: "alert" }, sentence)),
    );
  }

  /** Until Python has started, a place of waiting where the verdict will be. */
  #wait() {
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
    this.strip.className = "tf-strip";
    setText(this.strip, "Starting the calculator…");
  }

  #showProgress({ label, share }) {
    if (!this.isWaiting) return; // it starts by itself, and nobody asked
    this.progress.value = share;
    setText(this.progressLabel, `${label}…`);
  }

  #showFailure(message) {
    const wasWaiting = this.isWaiting;
    this.isWaiting = false;
    this.root.removeAttribute("aria-busy");
    if (wasWaiting) this.#show(this.shown, this.shown.state, { isAnswer: false });
    delete this.root.dataset.shown;
    const again = () => {
      this.engine.reset();
      this.status.hidden = true;
      this.#compute();
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

  /** The set-up of the answer in one line, so that it can be quoted. */
  #setup() {
    const { request } = this.shown;
    const names = {
      optimizer: this.#nameOf("optimizer", request.optimizer),
      stack: this.#nameOf("stack", request.stack),
    };
    return [this.#nameOf("model", request.model), ...answer.setupWords(request, names)].join(" · ");
  }

  /** The name of an entry of the catalog, or of what stands in its place. */
  #nameOf(key, value) {
    if (key === "model") {
      return typeof value === "string"
        ? (this.models.get(value)?.name ?? value)
        : describeOwnModel(value);
    }
    if (key === "card") return value === null ? "No card" : (this.cards.get(value)?.name ?? value);
    const entries = this.catalogue[key === "optimizer" ? "optimizers" : "stacks"];
    return entries.find((entry) => entry.id === value)?.name ?? value;
  }
}

const mounted = new WeakSet();

function mount() {
  const root = document.getElementById("tf-calculator");
  if (root === null || mounted.has(root)) return;
  mounted.add(root);
  new Calculator(root, JSON.parse(document.getElementById("tf-start").textContent)).start();
}

// The script stands behind the calculator in the page, so that is there, whatever else is not yet.
mount();
// With instant navigation the theme swaps the page's content and announces it here.
addEventListener("DOMContentLoaded", () => globalThis.document$?.subscribe(mount));
