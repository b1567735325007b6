// A run: what it came to, what changed in the skill, and how it went.

import { Verdict } from "./band.js";
import { Curves, MARKS } from "./curve.js";
import { useDocument } from "./data.js";
import { count, html, score, several } from "./html.js";
import { Change, Diff, Interval, Intervals, Loaded, Simulated } from "./parts.js";
import { to } from "./place.js";

export function RunScreen({ run }) {
  const state = useDocument(`runs/${run}`);
  return html`
    <h1 class="unseen">Run ${run}</h1>
    <${Loaded} banded state=${state}>
      ${(page) => html`
        <${Answer} page=${page} />
        <${Warnings} texts=${page.warnings} />
        <${Changed} run=${run} page=${page} />
        ${page.dry ? null : html`<${CurveSection} run=${run} />`}
        <${Targets} rows=${page.answer?.targets ?? []} />
        ${page.answer ? html`<section><h2>What it took</h2><${Lines} lines=${page.answer.facts} /></section>` : null}
      `}
    <//>
  `;
}

function Answer({ page }) {
  const { answer } = page;
  const deciding = answer?.scores.at(-1);
  const last = page.decisions.filter((decision) => decision.view.action).at(-1);
  return html`<section class="answer ${page.state}">
    <p class="headline"><${Verdict} page=${page} /> ${page.why ? html`<span most=${300}>${page.why}</span>` : null} ${answer?.gain ? html`<span class="gain"><${Change} value=${answer.gain} /> <span class="soft">on ${count(answer.gain.n)} test tasks</span></span>` : null}</p>
    <${Simulated} run=${page} />
    ${page.resume ? html`<p>Nothing that was paid for is lost. Go on${page.raise_limit ? ` (with a larger --${page.raise_limit})` : ""}: <code>${page.resume}</code></p>` : null}
    ${page.outdated ? html`<p class="warning">The scores are those of when the run last stopped; it was continued since.</p>` : null}
    ${!answer && page.learnt ? html`<p>${page.learnt}${page.place ? html`<span class="soft">; ${page.place}</span>` : null}</p>` : null}
    ${!answer && last ? html`<p class="soft" most=${400}>${last.name.startsWith("slow") ? "" : "step "}${last.name} ${last.view.action}: ${last.view.reason}</p>` : null}
    ${deciding?.initial || deciding?.best ? html`<${Scores} answer=${answer} />` : null}
    ${answer ? html`<${Lines} lines=${answer.lines} />` : null}
  </section>`;
}

function Scores({ answer }) {
  const deciding = answer.scores.at(-1);
  return html`<div class="scores">
    <div class="scroll" tabindex="0" role="region" aria-label="scores">
      <table class="figures">
        <thead><tr><th><span class="unseen">split</span></th><th class="initial">initial</th><th class="best">best</th></tr></thead>
        <tbody>
          ${[...answer.scores].reverse().map((row) => html`<tr><th scope="row">${row.name}</th><td><${Interval} value=${row.initial} /></td><td><${Interval} value=${row.best} /></td></tr>`)}
        </tbody>
      </table>
      <p class="soft small">${answer.about}</p>
    </div>
    <${Intervals}
      label="initial and best ${deciding.name} score with 95% intervals"
      rows=${[
        { kind: "initial", interval: deciding.initial },
        { kind: "best", interval: deciding.best },
      ]}
    />
  </div>`;
}

function Lines({ lines }) {
  if (!lines.length) return null;
  return html`<dl class="facts">${lines.map((line) => html`<dt>${line.name}</dt><dd class="pre" most=${2000}>${line.text}</dd>`)}</dl>`;
}

function Warnings({ texts }) {
  if (!texts.length) return null;
  return html`<section>
    <h2>Look at this first</h2>
    <ul class="warnings">
      ${texts.map((text) => html`<li most=${2000}>${text}</li>`)}
    </ul>
  </section>`;
}

function Changed({ run, page }) {
  const lines = page.diff.split("\n").slice(2);
  const [plus, minus] = ["+", "-"].map((sign) => lines.filter((line) => line[0] === sign).length);
  return html`<section>
    <h2>What changed in the skill${page.diff ? html` <span class="soft">${several(plus, "line")} came, ${count(minus)} went</span>` : null}</h2>
    <${Diff} text=${page.diff} />
    <p><a href=${to(["runs", run, "skill"])}>why each line is there</a></p>
  </section>`;
}

/** Asked for once the rest stands there: it takes all events. */
function CurveSection({ run }) {
  const state = useDocument(`runs/${run}/curve`);
  return html`<section>
    <h2>Training tasks solved</h2>
    <${Loaded} state=${state}>${(curve) => html`<${Curve} curve=${curve} />`}<//>
  </section>`;
}

function Curve({ curve }) {
  const { turns, marks } = curve;
  const tasks = turns.at(-1)?.tasks;
  if (!tasks) return html`<p class="soft">nothing was decided yet</p>`;
  const series = [
    { name: "solved", kind: "line", colour: "--blue", points: turns.map((turn) => [turn.target_calls, turn.solved, turn.action]) },
    { name: "attempted so far", kind: "thin", points: turns.map((turn) => [turn.target_calls, turn.tried]) },
  ];
  const measured = turns.filter((turn) => turn.current !== null).map((turn) => [turn.target_calls, turn.current]);
  for (const [split, colour, more] of [["validation", "--green", measured], ["test", "--orange", []]]) {
    const ends = marks.filter((mark) => mark.split === split).map((mark) => [mark.target_calls, mark.score]);
    const points = [...more.filter(([calls]) => ends.every(([at]) => at !== calls)), ...ends].sort((a, b) => a[0] - b[0]);
    if (points.length) series.push({ name: `${split} score`, kind: "mark", colour, points });
  }
  const scored = series.some((each) => each.kind === "mark");
  return html`
    <${Curves} series=${series} top=${tasks} label="training tasks solved over the calls of the target; the same as a table below" />
    <p class="legend soft">Of ${count(tasks)} training tasks those that were solved when last attempted. ${MARKS}${scored ? " Squares: mean scores on the scale at the right." : ""}</p>
    <details>
      <summary>the same as a table</summary>
      <div class="scroll" tabindex="0" role="region" aria-label="curve as a table">
        <table class="figures">
          <thead><tr><th>step</th><th>decision</th><th>target calls</th><th>attempted</th><th>solved</th><th>validation</th></tr></thead>
          <tbody>
            ${turns.map((turn) => html`<tr><td>${turn.step}</td><td>${turn.action}</td><td>${count(turn.target_calls)}</td><td>${count(turn.tried)}</td><td>${count(turn.solved)}</td><td>${score(turn.current)}</td></tr>`)}
          </tbody>
        </table>
      </div>
    </details>
  `;
}

/** A column for each of several targets. */
function Targets({ rows }) {
  if (!rows.length) return null;
  const [head, ...rest] = rows;
  return html`<section>
    <h2>Targets</h2>
    <p class="soft">Test scores of each target with 95% intervals. The verdict is about their mean.</p>
    <div class="scroll" tabindex="0" role="region" aria-label="targets">
      <table class="figures">
        <thead><tr>${head.map((name) => html`<th scope="col" most=${100}>${name}</th>`)}</tr></thead>
        <tbody>${rest.map(([name, ...cells]) => html`<tr><th scope="row">${name}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody>
      </table>
    </div>
  </section>`;
}
