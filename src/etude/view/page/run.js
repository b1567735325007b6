// A run at a glance: its curve, and its steps.

import { Curves, MARKS } from "./curve.js";
import { useDocument } from "./data.js";
import { count, html, money, score, short } from "./html.js";
import { Change, Chip, Interval, Loaded } from "./parts.js";
import { StepsTable } from "./steps.js";

export function RunScreen({ run }) {
  const state = useDocument(`runs/${run}`);
  return html`
    <h1 class="unseen">Run ${run}</h1>
    <${Loaded} banded state=${state}>
      ${(page) => html`
        <${CurveSection} run=${run} />
        ${page.warnings.length
          ? html`<section>
              <h2>Look at this first</h2>
              <ul class="warnings">
                ${page.warnings.map((text) => html`<li most=${2000}>${text}</li>`)}
              </ul>
            </section>`
          : null}
        <${Worth} page=${page} />
        ${page.targets.length && page.initial.hash !== page.best.hash ? html`<${Targets} page=${page} />` : null}
        <section>
          <h2>Steps</h2>
          ${page.noise ? html`<p class="soft">Noise: ${page.noise}.</p>` : null}
          <${StepsTable} run=${run} decisions=${page.decisions} />
        </section>
      `}
    <//>
  `;
}

/** Asked for once the rest stands there: it takes all events. */
function CurveSection({ run }) {
  const state = useDocument(`runs/${run}/curve`);
  return html`<section>
    <h2>Scores over calls</h2>
    <${Loaded} state=${state}>${(curve) => html`<${Curve} curve=${curve} />`}<//>
  </section>`;
}

/** What is drawn of a run: `[series]`. Only what was measured is there. */
function seriesOf(points) {
  const found = [];
  const steps = points.filter((point) => point.batch !== null);
  if (steps.length) found.push({ name: "training batch", kind: "line", colour: "--blue", points: steps.map((point) => [point.calls, point.batch, point.action]) });
  const measured = points.filter((point) => point.val !== null);
  if (measured.length) found.push({ name: "validation", kind: "line", colour: "--green", points: measured.map((point) => [point.calls, point.val, point.action]) });
  const proven = points.filter((point) => point.solved !== null);
  if (proven.length) found.push({ name: "failures solved", kind: "line", colour: "--orange", points: proven.map((point) => [point.calls, point.solved, point.action]) });
  return found;
}

function Curve({ curve }) {
  const { points } = curve;
  if (!points.length) return html`<p class="soft">nothing was decided yet</p>`;
  const spend = { name: "tokens", kind: "spend", points: points.map((point) => [point.calls, point.tokens]) };
  return html`
    <${Curves} series=${[...seriesOf(points), spend]} spend="tokens" label="scores over the calls of the target; the same as a table below" />
    <p class="legend soft">${MARKS} Training batch: mean score of its tasks with the skill before the step. Failures solved: of the training tasks seen to fail so far.</p>
    <details>
      <summary>the same as a table</summary>
      <div class="scroll" tabindex="0" role="region" aria-label="curve as a table">
        <table class="figures">
          <thead>
            <tr><th>step</th><th>decision</th><th>target calls</th><th>tokens</th><th>cost</th><th>training batch</th><th>validation</th><th>failures solved</th></tr>
          </thead>
          <tbody>
            ${points.map(
              (point) => html`<tr>
                <td>${point.step}</td><td>${point.action}</td><td>${count(point.calls)}</td><td>${short(point.tokens)}</td><td>${money(point.usd)}</td>
                <td>${score(point.batch)}</td><td>${score(point.val)}</td><td>${score(point.solved)}</td>
              </tr>`,
            )}
          </tbody>
        </table>
      </div>
    </details>
  `;
}

function Worth({ page }) {
  const worth = page.no_skill;
  if (!worth && !page.withheld) return null;
  return html`<section>
    <h2>What the skill is worth</h2>
    ${worth
      ? html`<p>
          Without any skill the test tasks score <b>${score(worth.score.mean)}</b>; with the best skill ${score(worth.score.mean + worth.gain.mean)}.
          ${worth.gain.low <= 0 ? " The test does not show that the skill helps." : ""}
        </p>`
      : null}
    ${page.withheld ? html`<p>The initial skill is handed out: ${page.withheld_why}. The other: <code>${page.withheld}</code></p>` : null}
  </section>`;
}

/** A column for each of several targets, as the report has them. */
function Targets({ page }) {
  const without = page.no_skill?.targets ?? [];
  const rows = [
    ["no skill", without.map((each) => html`<${Interval} value=${each.a} />`)],
    ["initial", page.targets.map((each) => html`<${Interval} value=${each.a} />`)],
    ["best", page.targets.map((each) => html`<${Interval} value=${each.b} />`)],
    ["gain", page.targets.map((each) => html`<${Change} value=${each.difference} />`)],
    ["over no skill", without.map((each) => html`<${Change} value=${each.difference} />`)],
    ["verdict", page.targets.map((each) => html`<${Chip} kind=${each.verdict}>${each.verdict}<//>`)],
  ];
  return html`<section>
    <h2>Targets</h2>
    <p class="soft">Test scores of each target with 95% intervals. The verdict above is about their mean.</p>
    <div class="scroll" tabindex="0" role="region" aria-label="targets">
      <table class="figures">
        <thead>
          <tr><th></th>${page.targets.map((each) => html`<th scope="col" most=${100}>${each.target}</th>`)}</tr>
        </thead>
        <tbody>
          ${rows.filter(([, cells]) => cells.length).map(([name, cells]) => html`<tr><th scope="row">${name}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`)}
        </tbody>
      </table>
    </div>
  </section>`;
}
