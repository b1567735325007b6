// What the run used: by role and stage, what was not paid again, how fast it went.

import { useDocument } from "./data.js";
import { count, html, money, short } from "./html.js";
import { Loaded } from "./parts.js";

export function CostScreen({ run }) {
  const state = useDocument(`runs/${run}/cost`);
  return html`<h1>Cost</h1><${Loaded} state=${state}>${(cost) => html`<${Shown} cost=${cost} />`}<//>`;
}

function Shown({ cost }) {
  if (!cost.calls) return html`<p class="soft">no call has been made yet</p>`;
  const stages = [...cost.stages].sort((a, b) => a.role.localeCompare(b.role) || tokens(b) - tokens(a));
  const most = Math.max(...stages.map(tokens), 1);
  const priced = cost.usd !== 0;
  const failed = stages.reduce((sum, stage) => sum + stage.failed, 0);
  return html`
    <section>
      <h2>By role and stage</h2>
      <div class="scroll" tabindex="0" role="region" aria-label="cost by role and stage">
        <table>
          <thead><tr><th>role</th><th>stage</th><th class="figure">calls</th><th class="figure minor">failed</th><th class="figure">tokens in</th><th class="figure minor">cached</th><th class="figure">out</th>${priced ? html`<th class="figure">cost</th>` : null}<th class="minor">tokens</th></tr></thead>
          <tbody>
            ${stages.map(
              (stage) => html`<tr>
                <td class="word">${stage.role}</td><td class="word">${stage.stage === "-" ? "cut off" : stage.stage.replace("_", " ")}</td>
                <td class="figure">${count(stage.calls)}</td><td class="figure minor">${count(stage.failed)}</td>
                <td class="figure">${short(stage.usage.input_tokens)}</td><td class="figure minor">${short(stage.usage.cached_tokens)}</td><td class="figure">${short(stage.usage.output_tokens)}</td>
                ${priced ? html`<td class="figure">${money(stage.usd)}</td>` : null}
                <td class="barcell minor"><i class="bar ${stage.role}" style=${{ width: `${(100 * tokens(stage)) / most}%` }}></i></td>
              </tr>`,
            )}
          </tbody>
          <tfoot>
            <tr><th scope="row" colspan="2">total</th><td class="figure">${count(cost.calls)}</td><td class="figure minor">${count(failed)}</td>
              <td class="figure">${short(cost.usage.input_tokens)}</td><td class="figure minor">${short(cost.usage.cached_tokens)}</td><td class="figure">${short(cost.usage.output_tokens)}</td>${priced ? html`<td class="figure">${money(cost.usd)}</td>` : null}<td class="minor"></td></tr>
          </tfoot>
        </table>
      </div>
    </section>
    <section>
      <h2>Not paid again</h2>
      <p>${count(cost.known)} of ${count(cost.attempts)} attempts were known to the journal already, so they made no call.</p>
    </section>
    <section>
      <h2>Requests</h2>
      <p>${cost.seconds ? `${(cost.calls / cost.seconds).toFixed(1)} per second on average over ${count(cost.seconds)} seconds; ` : ""}${count(cost.slowed)} were told to slow down (429), ${count(failed)} failed</p>
    </section>
  `;
}

function tokens(stage) {
  return stage.usage.input_tokens + stage.usage.output_tokens;
}
