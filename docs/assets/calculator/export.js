/* What leaves the page when asked to: a link, Markdown for a thread, JSON for a program, CSV for a
   sheet. */

import { standIns } from "./answer.js";
import { COMPONENTS, VERDICTS } from "./fields.js";
import { count, gb, gbNumber, gpus } from "./format.js";

const UNSAFE_MARKDOWN = /[\\`*_[\]<>|#]/g;

/** Text that Markdown shows as it is, on one line. */
const plain = (text) => String(text).replace(/\s+/g, " ").replace(UNSAFE_MARKDOWN, "\\$&");

/** The answer as a few lines of Markdown with its conditions and the link to it. */
export function toMarkdown({ result, request, card, modelName, link }) {
  const lines = result.per_gpu;
  const verdict = card === null || result.card === null ? null : VERDICTS[result.card.verdict];
  const against =
    card === null
      ? ""
      : ` of ${card.memory_marketed_gb} GB on ${gpus(result.num_gpus)}, ${plain(card.name)}`;
  const judged = verdict === null ? "" : `${verdict.sign} ${verdict.word}, `;
  const { precision, attention } = standIns(request, result.card);
  const setup = [
    request.method,
    request.optimizer,
    request.strategy,
    precision === null ? request.precision : `${request.precision} in ${precision}`,
    `${count(request.sequence_length)} tokens`,
    `micro-batch ${request.micro_batch_size}`,
    `gradient accumulation ${request.gradient_accumulation_steps}`,
    `checkpointing ${request.activation_checkpointing}`,
    attention ?? `${request.attention} attention`,
    `${request.loss} loss`,
    `${request.stack} stack`,
  ];
  const used = COMPONENTS.filter(([key]) => lines[key] > 0);
  return [
    `**${plain(modelName)}**: ${judged}**${gb(lines.total)}** per GPU${against}`,
    "",
    setup.map(plain).join(" · "),
    "",
    `| GB per GPU | ${used.map(([, label]) => label).join(" | ")} | Total |`,
    `| --- | ${used.map(() => "---:").join(" | ")} | ---: |`,
    `| | ${used.map(([key]) => gbNumber(lines[key])).join(" | ")} | ${gbNumber(lines.total)} |`,
    "",
    result.card?.reason ? `${plain(result.card.reason)}\n` : null,
    `Likely between ${gbNumber(result.low)} and ${gb(result.high)}.`,
    "",
    `[Open in the calculator](${link})`,
    "",
  ]
    .filter((line) => line !== null)
    .join("\n");
}

const ENTITIES = Object.freeze({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" });
const attribute = (text) => text.replace(/[&<>"]/g, (character) => ENTITIES[character]);

/** HTML that shows the answer inside another page. */
export function toEmbed({ modelName, link }) {
  const address = new URL(link);
  address.search = "?view=compact";
  return (
    `<iframe src="${attribute(address.href)}" title="${attribute(`GPU memory of ${modelName}`)}" ` +
    'width="640" height="320" loading="lazy"></iframe>\n'
  );
}

/** Request and result as the command line prints them. */
export function toJson({ result, request, link }) {
  return `${JSON.stringify({ link, request, result }, null, 2)}\n`;
}

const csvCell = (value) => {
  const text = String(value ?? "");
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** The table of cards and counts. */
export function toCsv(grid) {
  const rows = [["card", "name", "num_gpus", "total_bytes_per_gpu", "share", "verdict"]];
  for (const card of grid.cards) {
    for (const cell of card.cells) {
      if (cell !== null)
        rows.push([
          card.id,
          card.name,
          cell.num_gpus,
          cell.total,
          cell.share.toFixed(4),
          cell.verdict,
        ]);
    }
  }
  return rows.map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";
}

/** Offers `text` as a file. */
export function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = name;
  anchor.click();
  URL.revokeObjectURL(url);
}

/** Puts `text` on the clipboard; false where the browser does not let us. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
