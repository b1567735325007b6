// The steps of a run, and one of them: what failed, what was proposed, what became of each edit and why.

import { useDocument } from "./data.js";
import { html, score, several, stateOf } from "./html.js";
import { Cell, Chip, Diff, Loaded } from "./parts.js";
import { to } from "./place.js";

const FATES = {
  applied: "applied",
  repaired: "applied, its anchor was repaired",
  missed: "missed: its anchor was not found",
  protected: "not done: the place is protected",
  no_change: "not done: it would change nothing",
  dropped: "dropped",
};

const PROVEN = {
  needed: "does better with it, not without it",
  fixed: "mended with all edits, not shown for this one",
  cited: "cited, not mended",
  none: "another edit's failure",
};

const PLACES = { insert_after: "after", replace: "in place of", delete: "removes" };

export function StepsScreen({ run }) {
  const state = useDocument(`runs/${run}`);
  return html`<h1>Steps</h1><${Loaded} banded state=${state}>${(page) => html`<${StepsTable} run=${run} decisions=${page.decisions} state=${page.state} />`}<//>`;
}

function StepsTable({ run, decisions, state }) {
  if (!decisions.length) return html`<p class="soft">no step has begun yet</p>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="steps">
    <table>
      <thead><tr><th>step</th><th>decision</th><th class="minor">edits</th><th class="figure minor">skill tokens</th><th class="wide">reason</th></tr></thead>
      <tbody>
        ${decisions.map(
          (row) => html`<tr>
            <td><a data-row href=${to(["runs", run, ...row.place.split("/")])}>${row.name}</a></td>
            <td class="word"><${Chip} kind=${row.view.action ?? "none"}>${row.view.action ?? (state === "running" ? "under way" : "cut short")}<//>${row.view.best ? html` <span role="img" title="became the best skill" aria-label="became the best skill">★</span>` : null}</td>
            <td class="soft minor">${fates(row.view.edits)}</td>
            <td class="figure minor">${row.view.skill_tokens ?? ""}</td>
            <td class="wide" most=${400}>${row.view.reason}</td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>
  <p class="legend soft">★ became the best skill. Dropped: an edit that was made in tests only, as no task needs it or the step was rejected.</p>`;
}

/** How many edits had which fate, in a word or two, always in the same order. */
function fates(edits) {
  const sums = new Map();
  for (const [fate, words] of Object.entries(FATES)) {
    const word = words.split(/[:,]/)[0];
    if (edits[fate]) sums.set(word, (sums.get(word) ?? 0) + edits[fate]);
  }
  return [...sums].map(([word, number]) => `${number} ${word}`).join(", ");
}

export function StepScreen({ run, kind, rest, dry }) {
  const state = useDocument(`runs/${run}/${kind}/${rest[0]}`);
  return html`<${Loaded} state=${state}>${(step) => html`<${Step} run=${run} step=${step} dry=${dry} />`}<//>`;
}

function Step({ run, step, dry }) {
  const failed = step.attempts.filter((attempt) => dry || attempt.hard === null || attempt.hard < 1);
  const number = step.view.number;
  const near = (at) => to(["runs", run, "steps", String(at).padStart(4, "0")]);
  const isStep = step.place.startsWith("steps/");
  return html`
    <h1>${isStep ? `Step ${step.name}` : step.name} <${Chip} kind=${step.view.action ?? "none"}>${step.view.action ?? "under way"}<//></h1>
    <p most=${1000}>${step.view.reason}</p>
    ${isStep
      ? html`<nav class="near" aria-label="other steps">
          ${number > 1 ? html`<a href=${near(number - 1)}>← step ${number - 1}</a>` : null} ${number < step.last ? html`<a href=${near(number + 1)}>step ${number + 1} →</a>` : null}
        </nav>`
      : null}
    <section>
      <h2>${dry ? "What was attempted" : "What failed"}</h2>
      ${step.attempts.length
        ? html`<p>${dry ? several(step.attempts.length, "attempt") : `${failed.length} of ${several(step.attempts.length, "attempt")} failed. Mean score of the batch: ${score(mean(step.attempts))}.`}</p>
            <ul class="attempts">
              ${failed.map(
                (attempt) => html`<li>
                  <${Cell} kind=${stateOf(attempt.hard, dry)} />
                  <a data-row href=${to(["runs", run, "attempts", attempt.attempt])} most=${60}>${attempt.task}</a>
                  <span class="soft" most=${300}>${dry ? attempt.reason : attempt.feedback || attempt.reason}</span>
                </li>`,
              )}
            </ul>`
        : html`<p class="soft">no attempts were kept of this step</p>`}
    </section>
    <section>
      <h2>What was proposed</h2>
      ${step.readings.length ? null : html`<p class="soft">nothing</p>`}
      ${step.readings.map(
        (reading, at) => html`<div class="reading">
          <p><b>Reading ${at + 1}</b>, of ${several(reading.attempts.length, "attempt")}: ${several(reading.patch.edits.length, "edit")}${reading.dropped.length ? `, ${reading.dropped.length} dropped because they cite nothing that was shown` : ""}</p>
          <p class="soft" most=${3000}>${reading.unusable || reading.patch.reasoning}</p>
        </div>`,
      )}
    </section>
    <section>
      <h2>What became of each edit</h2>
      ${step.edits.length ? null : html`<p class="soft">no edit was made</p>`}
      ${step.edits.map((row, at) => html`<${Edit} run=${run} edit=${row.edit} fate=${row.fate} number=${at + 1} detail=${row.detail} tasks=${row.tasks} />`)}
      ${step.left_out.map((row) => html`<${Edit} run=${run} edit=${row.edit} fate="untested" detail=${row.why} tasks=${[]} />`)}
    </section>
    ${step.tested ? html`<${Proof} step=${step} />` : html`<${Tested} tasks=${step.tasks} />`}
    <section>
      <h2>What the candidate changes</h2>
      <${Diff} text=${step.diff} />
    </section>
  `;
}

function mean(attempts) {
  const known = attempts.filter((attempt) => attempt.hard !== null);
  return known.length ? known.reduce((sum, attempt) => sum + attempt.hard, 0) / known.length : null;
}

function Edit({ run, edit, fate, number, detail, tasks }) {
  const made = fate === "applied" || fate === "repaired";
  return html`<article class="edit ${made ? "made" : "unmade"}">
    <p>
      ${number ? html`<b>edit ${number}</b> ` : null}<code>${edit.op.replace("_", " ")}</code> <${Chip} kind=${made ? "accepted" : fate === "untested" ? "skipped" : "rejected"}>${FATES[fate] ?? "not tested"}<//> <span class="soft" most=${400}>${detail}</span>
    </p>
    ${edit.target ? html`<h3>${PLACES[edit.op] ?? "about"}</h3><pre class="anchor" most=${4000}>${edit.target}</pre>` : null}
    ${edit.content ? html`${edit.target ? html`<h3>${edit.op === "replace" ? "with" : "this text"}</h3>` : null}<pre class="content" most=${8000}>${edit.content}</pre>` : null}
    <p class="soft">
      <span most=${600}>${edit.reason}</span>
      ${edit.cites.length ? " cites " : " cites no attempt"}${edit.cites.map((name, at) => html`${at ? ", " : ""}<a href=${to(["runs", run, "attempts", name])} title=${tasks[at] ?? ""}>${name}</a>`)}
    </p>
  </article>`;
}

/** Edits against the failures they were tried on. */
function Proof({ step }) {
  const { edits, tasks } = step;
  if (!edits.length || !tasks.length) return null;
  return html`<section>
    <h2>Proof: edits against failures</h2>
    <p class="soft">
      ${Object.entries(PROVEN).map(([kind, words]) => html`<span class="key"><i class="cell ${kind}"></i> ${words}</span> `)}
    </p>
    <p class="soft">Columns: the edits by number, and the score of the task before the step and with the edits that were kept.</p>
    <div class="scroll" tabindex="0" role="region" aria-label="edits against failures">
      <table class="matrix">
        <thead>
          <tr><th>failure</th>${edits.map((_, at) => html`<th class="figure" aria-label="edit ${at + 1}">${at + 1}</th>`)}<th class="figure">before</th><th class="figure">after</th></tr>
        </thead>
        <tbody>
          ${tasks.map(
            (task) => html`<tr>
              <th scope="row" title=${task.task} most=${48}>${task.task}</th>
              ${edits.map((row) => {
                const kind = row.needed.includes(task.task) ? "needed" : row.fixes.includes(task.task) ? "fixed" : row.tasks.includes(task.task) ? "cited" : "none";
                return html`<td><${Cell} kind=${kind} words=${PROVEN[kind]} /></td>`;
              })}
              <td class="figure">${score(task.before)}</td>
              <td class="figure">${score(task.after)}</td>
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}

function Tested({ tasks }) {
  if (!tasks.length) return null;
  const changed = tasks.filter((task) => task.before !== task.after);
  return html`<section>
    <h2>The tasks that decided</h2>
    <p>${changed.length} of ${several(tasks.length, "task")} changed.</p>
    <div class="scroll" tabindex="0" role="region" aria-label="tasks that decided">
      <table>
        <thead><tr><th>task</th><th class="figure">before</th><th class="figure">with the candidate</th></tr></thead>
        <tbody>
          ${changed.map((task) => html`<tr><td most=${60}>${task.task}</td><td class="figure">${score(task.before)}</td><td class="figure">${score(task.after)}</td></tr>`)}
        </tbody>
      </table>
    </div>
  </section>`;
}
