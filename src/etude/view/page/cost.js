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
  const failed = stages.reduce((sum, stage) => sum + stage.failed, 0);
  return html`
    <section>
      <h2>By role and stage</h2>
      <div class="scroll" tabindex="0" role="region" aria-label="cost by role and stage">
        <table>
          <thead><tr><th>role</th><th>stage</th><th class="figure">calls</th><th class="figure minor">failed</th><th class="figure">tokens in</th><th class="figure minor">cached</th><th class="figure">out</th><th class="figure">cost</th><th class="minor">tokens</th></tr></thead>
          <tbody>
            ${stages.map(
              (stage) => html`<tr>
                <td class="word">${stage.role}</td><td class="word">${stage.stage === "-" ? "cut off" : stage.stage.replace("_", " ")}</td>
                <td class="figure">${count(stage.calls)}</td><td class="figure minor">${count(stage.failed)}</td>
                <td class="figure">${short(stage.usage.input_tokens)}</td><td class="figure minor">${short(stage.usage.cached_tokens)}</td><td class="figure">${short(stage.usage.output_tokens)}</td>
                <td class="figure">${money(stage.usd)}</td>
                <td class="barcell minor"><i class="bar ${stage.role}" style=${{ width: `${(100 * tokens(stage)) / most}%` }}></i></td>
              </tr>`,
            )}
          </tbody>
          <tfoot>
            <tr><th scope="row" colspan="2">total</th><td class="figure">${count(cost.calls)}</td><td class="figure minor">${count(failed)}</td>
              <td class="figure">${short(cost.usage.input_tokens)}</td><td class="figure minor">${short(cost.usage.cached_tokens)}</td><td class="figure">${short(cost.usage.output_tokens)}</td><td class="figure">${money(cost.usd)}</td><td class="minor"></td></tr>
          </tfoot>
        </table>
      </div>
    </section>
    <section>
      <h2>Not paid again</h2>
      <p>${count(cost.known)} of ${count(cost.attempts)} attempts were known to the journal already, so they made no call.</p>
      <p class="soft">Facts in the journal by kind: ${Object.entries(cost.facts).map(([kind, number]) => `${kind} ${count(number)}`).join(", ")}.</p>
    </section>
    <section>
      <h2>Requests per second</h2>
      <${Rates} rates=${cost.rates} />
    </section>
  `;
}

function tokens(stage) {
  return stage.usage.input_tokens + stage.usage.output_tokens;
}

/** At most 60 bars over the time in which calls ended; the part that was told to slow down is marked. */
function Rates({ rates }) {
  if (!rates.length) return html`<p class="soft">not known</p>`;
  const [begin, end] = [rates[0][0], rates.at(-1)[0] + 1];
  const wide = Math.max(1, Math.ceil((end - begin) / 60));
  const bars = Array.from({ length: Math.ceil((end - begin) / wide) }, () => [0, 0]);
  for (const [second, calls, slowed] of rates) {
    const bar = bars[Math.floor((second - begin) / wide)];
    bar[0] += calls;
    bar[1] += slowed;
  }
  const most = Math.max(...bars.map(([calls]) => calls));
  const slots = Math.max(20, bars.length); // a run of seconds is no wall of three bars
  const slowed = bars.reduce((sum, bar) => sum + bar[1], 0);
  const all = bars.reduce((sum, bar) => sum + bar[0], 0);
  return html`
    <svg class="rates" viewBox="0 0 600 80" preserveAspectRatio="none" role="img" aria-label="requests over time">
      ${bars.map(([calls, slow], at) => {
        const [x, w] = [(600 * at) / slots, 600 / slots - 1];
        return html`<g>
          <rect class="calls" x=${x} width=${w} y=${80 - (78 * calls) / most} height=${(78 * calls) / most} />
          <rect class="slowed" x=${x} width=${w} y=${80 - (78 * slow) / most} height=${(78 * slow) / most} />
        </g>`;
      })}
    </svg>
    <p class="soft number">${(all / (end - begin)).toFixed(1)} per second on average over ${count(end - begin)} seconds, ${(most / wide).toFixed(1)} at most; ${count(slowed)} were told to slow down (429)</p>
  `;
}
