// The band: in one line on every screen what the run came to, in what state it is, and what it used.

import { useEffect, useState } from "./vendor/hooks.js";
import { act, still, useDocument } from "./data.js";
import { count, duration, html, money, score } from "./html.js";
import { Change, Chip, Loaded, Said } from "./parts.js";

const STATES = { finished: "finished", stopped: "stopped", running: "running", died: "died", evaluations: "evaluations only", damaged: "cannot be read" };

export function Band({ run }) {
  const state = useDocument(`runs/${run}`);
  return html`<section class="band" aria-label="how the run stands"><${Loaded} state=${state}>${(page) => html`<${Shown} page=${page} />`}<//></section>`;
}

function Shown({ page }) {
  const { answer } = page;
  const scores = answer?.scores.at(-1);
  const known = scores?.initial && scores.best;
  return html`
    <${Verdict} page=${page} />
    ${known ? html`<span class="number"><span class="soft">${scores.name}</span> ${score(scores.initial.mean)} → <b>${score(scores.best.mean)}</b></span>` : null}
    ${answer?.gain ? html`<span class="number minor"><span class="soft">gain</span> <${Change} value=${answer.gain} /></span>` : null}
    <span class="state"><i class="dot ${page.state}"></i> ${STATES[page.state]} <${Clock} page=${page} /></span>
    ${page.place && page.state !== "finished" ? html`<span class="soft" most=${100}>${page.place}</span>` : null}
    ${page.learnt && !answer ? html`<span class="number">${page.learnt}</span>` : null}
    ${page.calls === null ? null : html`<span class="soft number minor spend"><b>${count(page.calls)}</b> calls${page.usd === 0 ? "" : `, ${money(page.usd)}`}</span>`}
    ${page.simulated ? html`<span class="warning">${page.dry ? "simulated models know none of these tasks" : "simulated models"}</span>` : null}
    ${page.state === "running" && !still ? html`<${Stop} run=${page.name} />` : null}
  `;
}

/** What the run came to; where it came to nothing yet, in what state that left it. */
export function Verdict({ page }) {
  const { answer, state } = page;
  if (answer && !page.outdated && (answer.verdict || state === "finished")) return html`<${Said} kind=${answer.verdict ?? "none"} words=${answer.words} />`;
  if (state === "died" || state === "stopped") return html`<${Chip} kind=${state}>${state}<//>`;
  return html`<${Chip} kind="none">${{ evaluations: "no training run" }[state] ?? "no verdict yet"}<//>`;
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
  const told = page.answer?.facts.find((fact) => fact.name === "time"); // without the pauses of a run that was resumed
  if (told && page.state === "finished") return html`<span class="soft number">in ${told.text}</span>`;
  const took = ((running ? now : Date.parse(page.at)) - Date.parse(page.started)) / 1_000;
  return html`<span class="soft number">${{ running: "for", died: "after" }[page.state] ?? "in"} ${duration(took)}</span>`;
}

function Stop({ run }) {
  const [told, tell] = useState("");
  const ask = () =>
    act(`stop/${run}`).then(
      () => tell("stopping: what is in flight is finished first"),
      (error) => tell(error.message),
    );
  return html`<span><button type="button" onClick=${ask} disabled=${told !== ""}>stop</button> <span class="soft" role="status">${told}</span></span>`;
}
