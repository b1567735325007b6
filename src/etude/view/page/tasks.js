// Tasks against steps: what was solved when. Only the rows that can be seen are drawn.

import { useEffect, useMemo, useRef, useState } from "./vendor/hooks.js";
import { useDocument } from "./data.js";
import { html, score, several, stateOf } from "./html.js";
import { Cell, Loaded, useInView } from "./parts.js";
import { go, to } from "./place.js";

const KEY = [
  ["attempted", "attempted"],
  ["solved", "solved"],
  ["partly", "partly"],
  ["failed", "failed"],
  ["void", "errored"],
  ["none", "not attempted"],
  ["failed mended", "solved with the candidate of the step"],
];
/** Pixels of a row, which grows with the size of the text that the reader has set. */
const HIGH = 1.5 * parseFloat(getComputedStyle(document.documentElement).fontSize);

export function TasksScreen({ run, query, dry }) {
  const state = useDocument(`runs/${run}/tasks`);
  return html`<h1>Tasks</h1>
    <${Loaded} state=${state}>${(matrix) => html`<${Matrix} run=${run} matrix=${matrix} query=${query} dry=${dry} />`}<//>`;
}

function Matrix({ run, matrix, query, dry }) {
  const splits = [...new Set(matrix.rows.map((row) => row.split))];
  const chosen = { split: query.get("split") ?? splits[0] ?? "", type: query.get("type") ?? "", changed: query.get("changed") ?? "", find: query.get("find") ?? "", task: query.get("task") ?? "" };
  const types = [...new Set(matrix.rows.filter((row) => row.split === chosen.split).map((row) => row.type))].filter(Boolean).sort();
  const set = (more) => go(to(["runs", run, "tasks"], { ...chosen, ...more }), true);
  const rows = useMemo(
    () =>
      matrix.rows.filter(
        (row) =>
          row.split === chosen.split &&
          (!chosen.type || row.type === chosen.type) &&
          (!chosen.find || row.task.includes(chosen.find) || row.input.toLowerCase().includes(chosen.find.toLowerCase())) &&
          (!chosen.changed || new Set(row.cells.flatMap(([, value, after]) => [value, after].filter((one) => one !== null))).size > 1),
      ),
    [matrix, chosen.split, chosen.type, chosen.find, chosen.changed],
  );
  const columns = useMemo(() => {
    const used = new Set(rows.flatMap((row) => row.cells.map(([column]) => column)));
    return matrix.columns.map((column, number) => ({ ...column, number })).filter((column) => used.has(column.number));
  }, [matrix, rows]);
  const open = rows.find((row) => row.task === chosen.task);
  if (!matrix.rows.length) return html`<p class="soft">no task was attempted yet</p>`;
  return html`
    <form class="filters" onSubmit=${(event) => event.preventDefault()}>
      <label>split <select value=${chosen.split} onChange=${(event) => set({ split: event.target.value, type: "", task: "" })}>${splits.map((name) => html`<option value=${name}>${name}</option>`)}</select></label>
      ${types.length > 1
        ? html`<label>type <select value=${chosen.type} onChange=${(event) => set({ type: event.target.value })}><option value="">all</option>${types.map((name) => html`<option value=${name} most=${60}>${name}</option>`)}</select></label>`
        : null}
      <label>find <input type="search" value=${chosen.find} onInput=${(event) => set({ find: event.target.value })} /></label>
      <label><input type="checkbox" checked=${chosen.changed !== ""} onChange=${(event) => set({ changed: event.target.checked ? "1" : "" })} /> changed only</label>
      <output>${several(rows.length, "task")}</output>
    </form>
    <p class="soft legendline">
      ${KEY.filter(([kind]) => (dry ? ["attempted", "void", "none"].includes(kind) : kind !== "attempted")).map(([kind, words]) => html`<span class="key"><i class="cell ${kind}"></i> ${words}</span> `)}
    </p>
    ${open ? html`<${Attempts} key=${open.task} run=${run} row=${open} columns=${matrix.columns} dry=${dry} />` : null}
    <${Rows} run=${run} dry=${dry} rows=${rows} columns=${columns} chosen=${chosen.task} choose=${(task) => set({ task: task === chosen.task ? "" : task })} />
  `;
}

function Rows({ run, dry, rows, columns, chosen, choose }) {
  const box = useRef(null);
  const [view, set] = useState({ top: 0, high: 600 });
  useEffect(() => {
    const read = () => set({ top: box.current.scrollTop, high: box.current.clientHeight });
    const at = rows.findIndex((row) => row.task === chosen);
    if (at >= 0) box.current.scrollTop = at * HIGH - box.current.clientHeight / 2;
    read();
    const resized = new ResizeObserver(read);
    resized.observe(box.current);
    return () => resized.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(view.top / HIGH) - 20);
  const last = Math.min(rows.length, Math.ceil((view.top + view.high) / HIGH) + 20);
  return html`<div class="heat scroll" ref=${box} tabindex="0" role="region" aria-label="tasks against steps" onScroll=${(event) => set({ top: event.target.scrollTop, high: event.target.clientHeight })}>
    <table aria-rowcount=${rows.length + 1}>
      <thead>
        <tr aria-rowindex="1"><th>task, by step</th>${columns.map((column) => html`<th class=${column.key.startsWith("steps/") ? "" : "whole"}>${column.key.startsWith("steps/") ? html`<a href=${to(["runs", run, ...column.key.split("/")])} aria-label="step ${column.label}">${column.label}</a>` : column.label}</th>`)}</tr>
      </thead>
      <tbody>
        ${first > 0 ? html`<tr aria-hidden="true" style=${{ height: `${first * HIGH}px` }}></tr>` : null}
        ${rows.slice(first, last).map((row, at) => html`<${Row} key=${row.split + row.task} dry=${dry} row=${row} columns=${columns} index=${first + at + 2} chosen=${row.task === chosen} choose=${choose} />`)}
        ${last < rows.length ? html`<tr aria-hidden="true" style=${{ height: `${(rows.length - last) * HIGH}px` }}></tr>` : null}
      </tbody>
    </table>
  </div>`;
}

function Row({ dry, row, columns, index, chosen, choose }) {
  const cells = new Map(row.cells.map((cell) => [cell[0], cell]));
  return html`<tr aria-rowindex=${index} class=${chosen ? "chosen" : ""}>
    <th scope="row" title="${row.task}: ${row.input}"><button type="button" class="plain" data-row aria-expanded=${chosen} onClick=${() => choose(row.task)} most=${160}>${row.input || row.task}</button></th>
    ${columns.map((column) => {
      const cell = cells.get(column.number);
      if (!cell) return html`<td></td>`;
      const [, value, after] = cell;
      const mended = !dry && after !== null && value !== null && after > value;
      const words = `${column.label}: ${stateOf(value, dry)}${dry || after === null ? "" : `, with the candidate ${score(after)}`}`;
      return html`<td><${Cell} kind=${stateOf(value, dry)} words=${words} more=${mended ? "mended" : ""} /></td>`;
    })}
  </tr>`;
}

/** What was asked and expected, and what was answered with the initial and with the best skill, or in the first and the last step. */
function Answers({ run, cells, columns, dry }) {
  const made = cells.filter(([, , , attempts]) => attempts.length);
  const whole = made.filter(([column]) => ["initial", "best"].includes(columns[column].key));
  const steps = made.filter(([column]) => columns[column].key.startsWith("steps/"));
  const chosen = whole.length ? whole : steps.length > 1 ? [steps[0], steps.at(-1)] : made.slice(0, 1);
  if (!chosen.length) return null;
  return html`
    <${Asked} key=${chosen[0][3][0]} run=${run} name=${chosen[0][3][0]} />
    <div class="answers">${chosen.map(([column, value, , attempts]) => html`<${Answer} key=${attempts[0]} run=${run} dry=${dry} name=${attempts[0]} value=${value} title=${titleOf(columns[column])} />`)}</div>`;
}

function titleOf(column) {
  return column.key.startsWith("steps/") ? `step ${column.label}` : column.key === "none" ? "no skill" : `${column.label} skill`;
}

function Asked({ run, name }) {
  const state = useDocument(`runs/${run}/attempts/${name}`);
  return html`<${Loaded} state=${state}>${(page) => html`<div class="answers">
    <div><h3>task</h3><pre class="text" most=${8000}>${page.input || "not known"}</pre></div>
    <${Gold} gold=${page.gold} />
  </div>`}<//>`;
}

export function Gold({ gold }) {
  if (gold === null || gold === undefined) return null;
  return html`<div><h3>expected</h3><pre class="text" most=${8000}>${typeof gold === "string" ? gold : JSON.stringify(gold, null, 2)}</pre></div>`;
}

function Answer({ run, name, value, title, dry }) {
  const state = useDocument(`runs/${run}/attempts/${name}`);
  return html`<div><h3>answer, ${title} <${Cell} kind=${stateOf(value, dry)} /></h3><${Loaded} state=${state}>
    ${(page) => html`<pre class="text" most=${4000}>${page.answer ?? "the run kept only the score"}</pre>${page.attempt?.score?.feedback ? html`<p class="soft pre" most=${2000}>${page.attempt.score.feedback}</p>` : null}`}
  <//></div>`;
}

/** The attempts at a task, those of the initial and the best skill first. */
function Attempts({ run, row, columns, dry }) {
  const weight = { initial: 0, best: 1, none: 2 };
  const cells = [...row.cells].sort((a, b) => (weight[columns[a[0]].key] ?? 3 + a[0]) - (weight[columns[b[0]].key] ?? 3 + b[0]));
  const box = useInView();
  return html`<aside class="wide" ref=${box} aria-label="attempts at ${row.task}">
    <h2 most=${80}>${row.task}</h2>
    <${Answers} run=${run} cells=${cells} columns=${columns} dry=${dry} />
    <h3>all attempts</h3>
    <ul class="attempts">
      ${cells.map(
        ([column, value, after, attempts]) => html`<li>
          <${Cell} kind=${stateOf(value, dry)} /> ${titleOf(columns[column])}${dry ? "" : html`: <b>${score(value)}</b>`}
          ${dry || after === null ? null : html` → ${score(after)}`} ${attempts.map((name) => html`<a href=${to(["runs", run, "attempts", name])}>${name}</a> `)}
        </li>`,
      )}
    </ul>
  </aside>`;
}
