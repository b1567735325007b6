// The band: verdict, scores, what was spent, in what state the run is.

import { useEffect, useState } from "./vendor/hooks.js";
import { act, still, useDocument } from "./data.js";
import { count, duration, html, money, short } from "./html.js";
import { Change, Chip, Interval, Intervals, Loaded } from "./parts.js";

const STATES = {
  finished: "finished",
  stopped: "stopped",
  running: "running",
  unfinished: "not finished: its process ended",
  evaluations: "evaluations only",
  damaged: "cannot be read",
};

export function Band({ run }) {
  const state = useDocument(`runs/${run}`);
  return html`<section class="band" aria-label="how the run stands"><${Loaded} state=${state}>${(page) => html`<${Shown} page=${page} />`}<//></section>`;
}

function Shown({ page }) {
  const { initial, best } = page;
  const same = initial && best && initial.hash === best.hash;
  const tested = initial?.test && best?.test;
  const pair = tested ? "test" : "val";
  return html`
    <div class="verdict">
      <${Verdict} page=${page} same=${same} />
      ${page.outdated ? html`<span class="warning">as it was when the run last stopped; it was continued since</span>` : null}
      ${page.simulated ? html`<span class="warning">simulated models: the scores say nothing about a real model</span>` : null}
    </div>
    ${initial && best && initial[pair]
      ? html`<div class="scores">
          <p class="label">${page.metric === "hard" ? "" : `${page.metric} `}${tested ? "test score" : "validation score"}</p>
          <dl>
            <dt class="initial">initial</dt>
            <dd><${Interval} value=${initial[pair]} /></dd>
            ${same
              ? null
              : html`<dt class="best">best</dt>
                  <dd><${Interval} value=${best[pair]} /></dd>`}
            ${tested && page.test_gain && !same
              ? html`<dt>gain</dt>
                  <dd><${Change} value=${page.test_gain} /> <span class="soft">${count(page.test_gain.n)} tasks</span></dd>`
              : null}
          </dl>
          <${Intervals}
            label="initial and best score with 95% intervals"
            rows=${[
              { kind: "initial", interval: initial[pair] },
              { kind: "best", interval: same ? null : best[pair] },
            ]}
          />
        </div>`
      : null}
    <div class="spend">
      <p class="label">spent</p>
      ${page.calls === null
        ? html`<p class="soft">not known</p>`
        : html`<p class="number"><b>${count(page.calls)}</b> calls, <b>${short(page.tokens)}</b> tokens, ${money(page.usd)}</p>`}
    </div>
    <div class="state">
      <p class="label">state</p>
      <p><span class="dot ${page.state}"></span> ${STATES[page.state]}${page.stage ? html`, ${page.step ? `step ${page.step}: ` : ""}${page.stage.replace("_", " ")}` : null}</p>
      <${Clock} page=${page} />
      ${page.state === "running" && !still ? html`<${Stop} run=${page.name} />` : null}
      ${page.resume ? html`<p class="soft">go on${page.raise_limit ? ` (with a larger --${page.raise_limit})` : ""}: <code>${page.resume}</code></p>` : null}
    </div>
  `;
}

function Verdict({ page, same }) {
  if (same) return html`<${Chip} kind="same">the best skill is the initial one<//>${page.why ? html`<span class="soft" most=${300}>${page.why}</span>` : null}`;
  if (page.verdict)
    return html`<${Chip} kind=${page.verdict}>${page.verdict}<//>${page.settle ? html`<span class="soft">${page.settle.note}</span>` : null}`;
  const words = { running: "no verdict yet", evaluations: "no training run" }[page.state] ?? "no verdict: not tested";
  return html`<${Chip} kind="none">${words}<//>${page.why ? html`<span class="soft" most=${300}>${page.why}</span>` : null}`;
}

/** How long it runs. */
function Clock({ page }) {
  const [now, set] = useState(Date.now());
  const running = page.state === "running" && !still;
  useEffect(() => {
    if (!running) return undefined;
    const timer = setInterval(() => set(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [running]);
  if (!page.started) return null;
  const took = ((running ? now : Date.parse(page.at)) - Date.parse(page.started)) / 1_000;
  return html`<p class="soft number">${running ? `${duration(took)} so far` : `took ${duration(took)}`}</p>`;
}

function Stop({ run }) {
  const [told, tell] = useState("");
  const ask = () =>
    act(`stop/${run}`).then(
      () => tell("stopping: what is in flight is finished first"),
      (error) => tell(error.message),
    );
  return html`<p><button type="button" onClick=${ask} disabled=${told !== ""}>stop</button> <span class="soft" role="status">${told}</span></p>`;
}
