// What the scripts of the tables share: elements, and the words and signs of an answer.

export const METHODS = { full: "Full fine-tuning", lora: "LoRA", qlora: "QLoRA" };
export const STRATEGIES = {
  single: "Single GPU",
  ddp: "DDP",
  "zero-1": "ZeRO-1",
  "zero-2": "ZeRO-2",
  "zero-3": "ZeRO-3 / FSDP",
};
export const SIGNS = { fits: "✓", tight: "≈", no: "✕" };
export const WORDS = { fits: "✓ fits", tight: "≈ tight", no: "✕ does not fit" };

export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}
