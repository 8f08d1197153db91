/* The catalog as the page knows it: entries by id, and what stands in the place of one. */

import { describeOwnModel } from "./model-input.js";
import { OWN_CARD, ownCardName } from "./state.js";

export class Catalogue {
  /** @param {object} entries `models`, `cards`, `optimizers`, `stacks` and `tools`, as lists */
  constructor(entries) {
    this.entries = entries;
    this.cards = new Map(entries.cards.map((card) => [card.id, card]));
    this.models = new Map(entries.models.map((model) => [model.id, model]));
  }

  /** The card that a state is judged on: of the catalog, or one of a size. */
  cardOf(state) {
    const size = state["card.memory_gb"];
    return size === null
      ? (this.cards.get(state.card) ?? null)
      : { id: OWN_CARD, name: ownCardName(size), memory_marketed_gb: size };
  }

  stack(id) {
    return this.entries.stacks.find((stack) => stack.id === id);
  }

  /** The name of an entry of the catalog, or of what stands in its place. */
  nameOf(key, value) {
    if (key === "model") {
      return typeof value === "string"
        ? (this.models.get(value)?.name ?? value)
        : describeOwnModel(value);
    }
    if (key === "card") return value === null ? "No card" : (this.cards.get(value)?.name ?? value);
    const entries = this.entries[key === "optimizer" ? "optimizers" : "stacks"];
    return entries.find((entry) => entry.id === value)?.name ?? value;
  }
}
