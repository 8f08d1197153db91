/* The calculator page: state in the URL fragment, form on one side, answer on the other.

   The page arrives with the answer for its defaults already in it, and with the data of that
   answer, so charts and controls work before Python has loaded; every other answer comes from the
   core in the worker. */

import { AnswerView } from "./answer-view.js";
import { Catalogue } from "./catalogue.js";
import { applies, settingWords } from "./compare.js";
import { engine } from "./engine.js";
import { FIELD_WORDS } from "./fields.js";
import { buildForm } from "./form.js";
import { importBox } from "./launch-import.js";
import { keepForOffline } from "./offline.js";
import {
  FIELDS,
  changesOf,
  decode,
  defaultState,
  encode,
  fitsInLink,
  formatValue,
  toCostRequest,
  toExportRequest,
  withChanges,
} from "./state.js";
import { nextTask } from "./tasks.js";

const LINK_DELAY_MS = 250; // Safari refuses more than 100 history changes in 30 seconds
const SOLVE_DELAY_MS = 120;
const IDLE_START_MS = 1500;

function whenIdle(callback) {
  if (globalThis.requestIdleCallback === undefined) setTimeout(callback, IDLE_START_MS);
  else requestIdleCallback(callback, { timeout: IDLE_START_MS });
}

class Calculator {
  constructor(root, start) {
    this.root = root;
    this.start = start;
    this.catalogue = new Catalogue(start.catalogue);
    this.curveLengths = start.page.curve.points.map((point) => point.sequence_length);
    this.state = defaultState();
    this.isFormComing = false;
    this.engine = engine;
    this.form = null; // until there is time for it
  }

  /** In several tasks, so that none is long. */
  async run() {
    await nextTask();
    this.#build();
    await nextTask();
    document.documentElement.classList.remove("tf-has-link");
    if (this.#readLink()) this.#compute();
    else this.#whileBusy(this.#showDefault());
    if (!this.view.isCompact) this.#buildForm();
    this.engine.listen({
      onProgress: (progress) => this.view.showProgress(progress),
      onReady: ({ files, isRestored }) => {
        this.root.dataset.python = isRestored ? "restored" : "started";
        this.engine.practise(this.#question(this.state));
        whenIdle(() => keepForOffline(this.root, files));
      },
      onFailure: (message) => this.view.showFailure(message, () => this.#tryAgain()),
    });
    this.#startOnInterest();
  }

  async #showDefault() {
    const { shown } = this.view;
    await nextTask();
    if (this.view.shown === shown && !this.view.isWaiting) await this.view.show(shown, shown.state);
  }

  #build() {
    this.view = new AnswerView({
      root: this.root,
      catalogue: this.catalogue,
      page: this.start.page,
      state: this.state,
      onChange: (changes) => this.#step(changes),
      onSwap: (state) => this.#change(state), // a second swap takes it back
      onKeep: () => this.#writeLink(),
      onReset: () => this.#step(defaultState()),
      onSettings: () => this.form?.focus(),
      linkTo: (state) => this.#link(state),
      takeLink: () => {
        this.#writeLinkNow();
        return this.#link(this.state);
      },
      estimateOf: (state) => this.engine.ask("kept", toCostRequest(state)),
      exportOf: (tool, state) =>
        this.engine.ask("export", { ...toExportRequest(state), op: "export", tool }),
    });
    addEventListener("hashchange", () => {
      if (this.#readLink()) this.#compute();
    });
  }

  async #buildForm() {
    if (this.isFormComing) return;
    this.isFormComing = true;
    await nextTask();
    const importer = importBox({
      read: (text) => this.engine.ask("recognise", { op: "recognise", text }),
      accept: (reading) => this.#takeOver(reading),
    });
    const form = await buildForm({
      catalogue: this.catalogue.entries,
      onChange: (key, value) => this.#choose(key, value),
      importer: importer.root,
    });
    await nextTask();
    this.form = form;
    this.importer = importer;
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
    clearTimeout(this.linkTimer); // what it would write belongs to the entry that was left
    const state = decoded?.state ?? defaultState();
    state.model = history.state?.model ?? state.model;
    this.view.showProblems(decoded?.problems ?? []);
    this.view.compare.keep(decoded?.kept ?? history.state?.kept ?? null);
    this.#setView(decoded?.view ?? null);
    const isOther = encode(state) !== encode(this.state) || typeof state.model !== "string";
    this.#set(state);
    return isOther;
  }

  #set(state) {
    if (encode(state) !== encode(this.state)) this.importer?.noteChange();
    this.state = state;
    this.form?.show(state);
  }

  /** The whole page, or the compact view for other pages: `?view=compact`, or in the link. */
  #setView(inLink) {
    this.viewInLink = inLink;
    const isCompact =
      inLink === "compact" || new URLSearchParams(location.search).get("view") === "compact";
    this.view.isCompact = isCompact;
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
    const former = this.catalogue.stack(this.state.stack).defaults;
    const { name, defaults } = this.catalogue.stack(id);
    const usual = defaultState();
    const isOpen = (key) => [usual[key], former[key]].includes(this.state[key]);
    const wanted = Object.keys({ ...former, ...defaults }).filter(isOpen);
    const settings = Object.fromEntries(wanted.map((key) => [key, defaults[key] ?? usual[key]]));
    const before = this.state;
    this.#change({ stack: id, ...settings });
    const words = wanted
      .filter((key) => this.state[key] !== before[key] && applies(key, this.state))
      .map((key) => {
        const setting = settingWords(key, this.state, this.#nameOf);
        return `${FIELD_WORDS[key].label}: ${setting}`;
      });
    this.form.tell("stack", words.length === 0 ? "" : `${name} has set ${words.join("; ")}.`);
  }

  /** Sets what a file says, and returns it in words. */
  #takeOver({ recognised, dataset, implied }) {
    const changes = changesOf({ ...recognised, dataset });
    this.#step({ ...this.catalogue.stack(changes.stack)?.defaults, ...changes });
    const isImplied = new Set(implied);
    return Object.keys(FIELD_WORDS)
      .filter((key) => Object.hasOwn(changes, key))
      .map((key) => ({
        label: FIELD_WORDS[key].label,
        // Packing is taken over before there are samples that it applies to.
        words:
          key === "dataset.packing"
            ? formatValue(FIELDS[key], this.state[key])
            : settingWords(key, this.state, this.#nameOf),
        isImplied: isImplied.has(key),
      }));
  }

  #change(changes) {
    this.view.keepFocus();
    this.#set(withChanges(this.state, changes));
    this.view.showProblems([]);
    this.#writeLink();
    this.#compute();
  }

  /** A change that a button or a file makes, of several settings at once: Back takes it back. */
  #step(changes) {
    const before = this.state;
    this.#writeLinkNow();
    this.#change(changes);
    if (encode(before) !== encode(this.state) || before.model !== this.state.model)
      history.pushState(null, "", this.#address());
    this.#writeLinkNow();
  }

  #writeLink() {
    clearTimeout(this.linkTimer);
    this.linkTimer = setTimeout(() => this.#writeLinkNow(), LINK_DELAY_MS);
  }

  #writeLinkNow() {
    clearTimeout(this.linkTimer);
    history.replaceState(this.#beyondLink(), "", this.#address());
  }

  /** What a link is too short for stays with the browser's history, for Back and a reload. */
  #beyondLink() {
    const { model } = this.state;
    const { state: kept } = this.view.compare;
    return {
      ...history.state,
      model: fitsInLink(this.state) ? null : model,
      kept: kept === null || fitsInLink(kept) ? null : kept,
    };
  }

  /** This page's address, with its view. */
  #address() {
    const address = new URL(location.href);
    address.hash = encode(this.state, {
      kept: this.view.compare.state,
      view: this.viewInLink,
    });
    return address.href;
  }

  /** The link to a state, for others: to the whole page. */
  #link(state) {
    const link = new URL(location.href);
    link.search = "";
    link.hash = encode(state, { kept: this.view.compare.state });
    return link.href;
  }

  #nameOf = (key, value) => this.catalogue.nameOf(key, value);

  /** What the core is asked for everything that the page shows of a state, but for the solvers. */
  #question(state) {
    return { ...toCostRequest(state), op: "page", sequence_lengths: this.curveLengths };
  }

  #compute() {
    this.#whileBusy(this.#answer(this.state));
  }

  #tryAgain() {
    this.engine.reset();
    this.#compute();
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
      this.view.wait();
      this.view.prepareGrid();
    }
    let page;
    try {
      page = await this.engine.ask("page", this.#question(state));
    } catch (error) {
      // Where the engine failed, it has told so itself.
      if (this.engine.state !== "failed") this.view.showProblems([`No answer: ${error.message}`]);
      return;
    }
    if (page === null) return; // a newer state is on its way
    this.view.stopWaiting();
    this.form?.markError(page.error?.field ?? null);
    if (page.error !== undefined) {
      this.view.showRefusal(page.error);
      return;
    }
    const showing = this.view.show(page, state);
    this.view.sayAnswer();
    await Promise.all([showing, this.#solve(state)]);
  }

  async #solve(state) {
    await new Promise((resolve) => setTimeout(resolve, SOLVE_DELAY_MS));
    if (this.state !== state) return;
    if (this.catalogue.cardOf(state) === null) {
      this.view.showSolved(null);
      return;
    }
    let solved;
    try {
      solved = await this.engine.ask("solve", { ...toCostRequest(state), op: "solve" });
    } catch {
      return; // the page's own answer stands without it
    }
    if (solved === null || solved.error !== undefined || this.view.shown.state !== state) return;
    this.view.showSolved(solved);
    this.root.dataset.solved = encode(state);
  }
}

const mounted = new WeakSet();

function mount() {
  const root = document.getElementById("tf-calculator");
  if (root === null || mounted.has(root)) return;
  mounted.add(root);
  new Calculator(root, JSON.parse(document.getElementById("tf-start").textContent)).run();
}

// The script stands behind the calculator in the page, so that is there, whatever else is not yet.
mount();
// With instant navigation the theme swaps the page's content and announces it here.
addEventListener("DOMContentLoaded", () => globalThis.document$?.subscribe(mount));
