/* The controls: one per field of the request, built from the words in fields.js. */

import { combobox } from "./combobox.js";
import { el, setText } from "./dom.js";
import { FIELD_WORDS, GROUPS, TOOLS } from "./fields.js";
import { count, parameters, shortTokens } from "./format.js";
import { FEWEST_PARAMETERS, describeOwnModel, parseParameterCount } from "./model-input.js";
import {
  FIELDS,
  expectation,
  formatValue,
  hasSamples,
  ownCardName,
  parseValue,
  quoted,
} from "./state.js";
import { Slices } from "./tasks.js";

const controlId = (key) => `tf-${key.replaceAll(".", "-")}`;

/** Names of a field in other tools, those that share a name together. */
function namesOf(names, tool) {
  const byName = new Map();
  for (const [id, label] of TOOLS) {
    if (names[id] === undefined || (tool !== "all" && tool !== id)) continue;
    byName.set(names[id], [...(byName.get(names[id]) ?? []), label]);
  }
  return [...byName].flatMap(([name, labels]) => [
    " ",
    el("code", {}, name),
    tool === "all" ? ` ${labels.join(", ")}` : "",
  ]);
}

const TOOL_KEY = "trainfit-tool";

/** The tool whose names someone chose to see; storage may be closed to us. */
function rememberedTool() {
  try {
    return localStorage.getItem(TOOL_KEY);
  } catch {
    return null;
  }
}

function rememberTool(tool) {
  try {
    localStorage.setItem(TOOL_KEY, tool);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
}

const SMALLEST_NAME = 1000;
const LARGE_COUNTS = new Set(["dataset.num_tokens", "dataset.num_samples"]);

/**
 * Typed text as the written form of a value: a sequence of `8k` is 8,192 tokens, a data set of
 * `1.5B` is 1.5 billion, and grouping by thousands is ignored.
 */
function normaliseTyped(key, text) {
  if (LARGE_COUNTS.has(key)) return String(parseParameterCount(text) ?? text.trim());
  // A comma groups thousands; as the point of a fraction it would make 25 of 2,5.
  const plain = text.trim().replace(/(?<=[0-9])(?:[_ ](?=[0-9])|,(?=[0-9]{3}(?![0-9])))/g, "");
  const short = key === "sequence_length" ? /^([0-9]{1,5})k$/i.exec(plain) : null;
  return short === null ? plain : String(Number(short[1]) * 1024);
}

/**
 * Builds the form, with pauses for the browser.
 *
 * @param {object} settings
 * @param {object} settings.catalogue models, cards, optimizers and stacks with their ids and names
 * @param {(key: string, value: unknown) => void} settings.onChange
 * @param {HTMLElement} settings.importer where a file fills the form in
 */
export async function buildForm({ catalogue, onChange, importer }) {
  const showers = new Map(); // key -> (value) => void
  const conditional = []; // [element, condition]
  const nameLines = []; // [element, names]
  const notes = new Map(); // key -> element

  const problemLine = (key) =>
    el("p", { id: `${controlId(key)}-problem`, class: "tf-problem", hidden: true });

  const fieldBox = (field, tag, children) => {
    const box = el(tag, { class: "tf-field", "data-field": field.key }, ...children);
    if (field.when !== undefined) conditional.push([box, field.when]);
    return box;
  };

  const helpLine = (field) => {
    const names = el("span", { class: "tf-names" });
    nameLines.push([names, field.names]);
    return el("p", { id: `${controlId(field.key)}-help`, class: "tf-help" }, field.help, names);
  };

  const labelLine = (field) =>
    el(
      "label",
      { class: "tf-label", for: controlId(field.key) },
      field.label,
      field.unit === undefined ? null : el("span", { class: "tf-unit" }, ` ${field.unit}`),
    );

  function radios(field) {
    const inputs = Object.entries(field.options).map(([value, label]) => {
      const input = el("input", {
        type: "radio",
        name: controlId(field.key),
        value,
        onchange: () => onChange(field.key, value),
      });
      return [input, el("label", { class: "tf-segment" }, input, el("span", {}, label))];
    });
    showers.set(field.key, (value) => {
      for (const [input] of inputs) input.checked = input.value === value;
    });
    return fieldBox(field, "fieldset", [
      el("legend", { class: "tf-label" }, field.label),
      el("div", { class: "tf-segments" }, ...inputs.map(([, label]) => label)),
      helpLine(field),
    ]);
  }

  function select(field) {
    const options =
      field.source === undefined
        ? Object.entries(field.options)
        : catalogue[field.source].map((entry) => [entry.id, entry.name]);
    const control = el(
      "select",
      {
        id: controlId(field.key),
        class: "tf-input",
        "aria-describedby": `${controlId(field.key)}-help`,
        onchange: () => onChange(field.key, control.value),
      },
      ...options.map(([value, label]) => el("option", { value }, label)),
    );
    showers.set(field.key, (value) => {
      control.value = value;
    });
    const note = el("p", { class: "tf-help tf-told", role: "status" });
    notes.set(field.key, note);
    return fieldBox(field, "div", [labelLine(field), control, note, helpLine(field)]);
  }

  function checkbox(field) {
    const control = el("input", {
      id: controlId(field.key),
      type: "checkbox",
      "aria-describedby": `${controlId(field.key)}-help`,
      onchange: () => onChange(field.key, control.checked),
    });
    showers.set(field.key, (value) => {
      control.checked = value;
    });
    return fieldBox(field, "div", [
      el("label", { class: "tf-check" }, control, el("span", {}, field.label)),
      helpLine(field),
    ]);
  }

  function textual(field) {
    const { key } = field;
    const schema = FIELDS[key];
    const isNumber = field.control === "number";
    const problem = problemLine(key);
    const control = el("input", {
      id: controlId(key),
      class: isNumber ? "tf-input tf-number" : "tf-input",
      type: "text",
      inputmode: isNumber ? (schema.kind === "decimal" ? "decimal" : "numeric") : null,
      placeholder: field.placeholder,
      autocomplete: "off",
      spellcheck: "false",
      "aria-describedby": `${controlId(key)}-help ${controlId(key)}-problem`,
    });
    const presets = new Map();
    const showPressed = (value) => {
      for (const [preset, button] of presets) {
        button.classList.toggle(
          "tf-preset-on",
          normaliseTyped(key, preset) === formatValue(schema, value),
        );
      }
    };
    const read = () => {
      const typed = normaliseTyped(key, control.value);
      const mayBeEmpty = schema.none !== undefined || schema.default === null;
      const value = typed === "" && mayBeEmpty ? null : parseValue(schema, typed);
      const isBad = value === undefined;
      problem.hidden = !isBad;
      control.toggleAttribute("aria-invalid", false);
      if (isBad) {
        control.setAttribute("aria-invalid", "true");
        const kept = shown(before) || formatValue(schema, null) || "The value before";
        setText(
          problem,
          `${quoted(typed)} is not ${expectation(schema)}. ${kept} is still used.`,
        );
        // What was typed so far may have been a value, as 4 of 4.096 is, and nobody meant it.
        if (lastValue !== before) onChange(key, before);
        return;
      }
      showPressed(value);
      onChange(key, value);
    };
    control.addEventListener("focus", () => (before = lastValue));
    control.addEventListener("input", read);
    const shown = (value) => {
      if (value === null) return "";
      return schema.kind === "integer" ? count(value) : formatValue(schema, value);
    };
    control.addEventListener("change", () => {
      if (!problem.hidden) return;
      control.value = shown(lastValue);
      before = lastValue;
    });
    let lastValue = schema.default;
    let before = lastValue; // what stood there when someone began to type
    showers.set(key, (value) => {
      lastValue = value;
      showPressed(value);
      if (document.activeElement === control) return; // never under the fingers of who types
      control.value = shown(value);
      control.removeAttribute("aria-invalid");
      problem.hidden = true;
    });
    const presetRow =
      field.presets === undefined
        ? null
        : el(
            // Shortcuts for the pointer only: typing into the box does the same with the keyboard.
            "div",
            { class: "tf-presets", "aria-hidden": "true" },
            ...field.presets.map((preset) => {
              const text = String(preset);
              const label =
                key === "sequence_length" ? shortTokens(preset) : text.replaceAll(",", ", ");
              const button = el(
                "button",
                {
                  type: "button",
                  tabindex: "-1",
                  class: "tf-preset",
                  onclick: () => {
                    control.value = text;
                    read();
                    control.value = shown(lastValue);
                  },
                },
                label,
              );
              presets.set(text, button);
              return button;
            }),
          );
    return fieldBox(field, "div", [
      labelLine(field),
      el("div", { class: "tf-control-row" }, control, presetRow),
      problem,
      helpLine(field),
    ]);
  }

  /** `labelOf` gets the field's value and the whole state; `remedy` is for an unknown name. */
  function picker(field, labelOf, { remedy, ...choices }) {
    const id = controlId(field.key);
    const problem = problemLine(field.key);
    problem.setAttribute("role", "alert");
    let label = "";
    const box = combobox({
      id,
      describedBy: `${id}-help ${id}-problem`,
      ...choices,
      onChoose: (value) => onChange(field.key, value),
      onMiss: (typed) => {
        problem.hidden = false;
        setText(problem, `Nothing is named ${quoted(typed)}; ${label} is still used. ${remedy}`);
      },
    });
    showers.set(field.key, (value, state) => {
      label = labelOf(value, state);
      problem.hidden = true;
      box.show(label);
    });
    return [labelLine(field), box.root, problem, helpLine(field)];
  }

  const modelOptions = catalogue.models.map((model) => ({
    value: model.id,
    label: model.name,
    detail: model.num_parameters === undefined ? model.id : parameters(model.num_parameters),
    search:
      [model.id, model.name, model.hugging_face, model.family, ...model.aliases]
        .join(" ")
        .toLowerCase(),
  }));
  const cardOptions = catalogue.cards.map((card) => ({
    value: card.id,
    label: card.name,
    detail: `${count(card.memory_marketed_gb)} GB`,
    search:
      `${card.id} ${card.name} ${card.vendor} ${card.memory_marketed_gb}gb`.toLowerCase(),
  }));
  cardOptions.push({ value: null, label: "No card", detail: "bytes only", search: "no card none" });
  const sizeOption = (typed) => {
    const match = /^\s*(?:card with\s+)?([0-9]{1,4})\s*(gi?b)?\s*$/i.exec(typed);
    const size = match === null ? undefined : parseValue(FIELDS["card.memory_gb"], match[1]);
    return size === undefined
      ? null
      : {
          value: { memory_gb: size },
          label: ownCardName(size),
          detail: "no speed, no list price",
          // 4090 is the name of a card before it is a size; no name has a smaller number alone.
          isAfterWhole: match[2] === undefined && size >= SMALLEST_NAME,
        };
  };
  const nameOf = (entries, id) => entries.find((entry) => entry.value === id)?.label ?? id;

  function modelField(field) {
    const parameterOption = (typed) => {
      const value = parseParameterCount(typed.replace(/,\s*typical shape\s*$/i, ""));
      return value === null || value < FEWEST_PARAMETERS
        ? null
        : {
            value: { num_parameters: value },
            label: describeOwnModel({ num_parameters: value }),
            detail: "",
          };
    };
    const labelOf = (model) =>
      typeof model === "string" ? nameOf(modelOptions, model) : describeOwnModel(model);
    return fieldBox(field, "div", [
      ...picker(field, labelOf, {
        options: () => modelOptions,
        extra: parameterOption,
        // The shortest name that has all words says the least beside them.
        distance: (option) => option.label.length,
        remedy: "Paste the model's config.json below, or type its number of parameters.",
      }),
      importer,
    ]);
  }

  const builders = { radios, select, checkbox, number: textual, text: textual };
  const build = (field) => {
    if (field.key === "model") return modelField(field);
    if (field.key === "card") {
      return fieldBox(
        field,
        "div",
        picker(
          field,
          (id, state) =>
            state["card.memory_gb"] === null
              ? nameOf(cardOptions, id)
              : ownCardName(state["card.memory_gb"]),
          {
            options: () => cardOptions,
            extra: sizeOption,
            remedy: "Type the card's size in GB.",
          },
        ),
      );
    }
    return builders[field.control](field);
  };

  const toolSelect = el(
    "select",
    { id: "tf-tool", class: "tf-input", onchange: () => chooseTool(toolSelect.value) },
    ...TOOLS.map(([id, label]) => el("option", { value: id }, label)),
    el("option", { value: "all" }, "all tools"),
    el("option", { value: "none" }, "no tool"),
  );
  const chooseTool = (tool) => {
    showNames(tool);
    rememberTool(tool);
  };
  const showNames = (tool) => {
    for (const [line, names] of nameLines) {
      line.replaceChildren(...(tool === "none" ? [] : namesOf(names, tool)));
    }
  };

  const slices = new Slices();
  const groups = [];
  for (const { legend, fields } of GROUPS) {
    groups.push(
      el(
        "fieldset",
        { class: "tf-group" },
        el("legend", { class: "tf-group-legend" }, legend),
        ...(await slices.map(fields, build)),
      ),
    );
  }
  const root = el(
    "form",
    { class: "tf-form", "aria-label": "Set-up", onsubmit: (event) => event.preventDefault() },
    el(
      "div",
      { class: "tf-tool" },
      el("label", { for: "tf-tool" }, "Setting names of"),
      toolSelect,
    ),
    ...groups,
  );
  const remembered = rememberedTool();
  toolSelect.value = [...toolSelect.options].some((option) => option.value === remembered)
    ? remembered
    : "trl";
  showNames(toolSelect.value);

  return {
    root,
    /** Shows a state in the controls. */
    show(state) {
      for (const [key, shower] of showers) shower(state[key], state);
      const holds = {
        adapter: state.method !== "full",
        quantised: state.method === "qlora",
        "named-stack": state.stack !== "generic",
        samples: state["dataset.num_samples"] !== null,
        "sized-samples": hasSamples(state),
      };
      for (const [box, condition] of conditional) box.hidden = !holds[condition];
      const isSingle = state.strategy === "single";
      const gpuCount = root.querySelector("#tf-num_gpus");
      gpuCount.disabled = isSingle;
      const box = gpuCount.closest(".tf-field");
      const { help, helpWhenOff } = FIELD_WORDS.num_gpus;
      box.classList.toggle("tf-off", isSingle);
      box.querySelector(".tf-help").firstChild.data = isSingle ? helpWhenOff : help;
      gpuCount.placeholder = isSingle ? "1" : FIELD_WORDS.num_gpus.placeholder;
    },
    /** Puts the keyboard on the first control of a set-up, behind the choice of names. */
    focus() {
      root.querySelector("#tf-model").focus();
    },
    /** Says beside a list what a choice in it has brought; nothing with an empty sentence. */
    tell(key, sentence) {
      setText(notes.get(key), sentence);
    },
    /** Marks the control that a refused request names, or none. */
    markError(field) {
      for (const input of root.querySelectorAll("[data-refused]")) {
        input.removeAttribute("data-refused");
        input.removeAttribute("aria-invalid");
      }
      const key =
        field === null ? null : Object.keys(FIELD_WORDS).find((name) => isPrefix(name, field));
      if (key === undefined || key === null) return;
      const control = root.querySelector(`#${CSS.escape(controlId(key))}`);
      control?.setAttribute("aria-invalid", "true");
      control?.setAttribute("data-refused", "");
    },
  };
}

function isPrefix(name, path) {
  return path === name || path.startsWith(`${name}.`);
}
