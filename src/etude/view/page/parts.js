// Small pieces that several screens use.

import { useEffect, useRef } from "./vendor/hooks.js";
import { html, score, signed } from "./html.js";

/** A ref for what somebody has just asked for: it comes into view. */
export function useInView() {
  const box = useRef(null);
  useEffect(() => box.current.scrollIntoView({ block: "nearest" }), []);
  return box;
}

export function Trouble({ error }) {
  return html`<div class="trouble" role="alert">
    <p most=${2000}>${error.message}</p>
    ${error.hint ? html`<p class="soft" most=${2000}>${error.hint}</p>` : null}
  </div>`;
}

/** Draws what a document holds; until it is there says so, and when it cannot be had says why, unless the band does. */
export function Loaded({ state, banded = false, children }) {
  const trouble = state.error && !banded ? html`<${Trouble} error=${state.error} />` : null;
  if (state.data === null) return state.error ? trouble : html`<p class="wait">loading ...</p>`;
  return html`${trouble}${children(state.data)}`;
}

/** Scores with their 95% intervals on a line from 0 to 1. */
export function Intervals({ rows, label }) {
  const known = rows.filter((row) => row.interval);
  const high = 22;
  const at = (value) => 2 + 196 * Math.max(0, Math.min(1, value));
  return html`<svg class="intervals" viewBox="0 0 200 ${known.length * high + 14}" role="img" aria-label=${label}>
    ${[0, 0.5, 1].map(
      (value) => html`<g>
        <line class="grid" x1=${at(value)} x2=${at(value)} y1="0" y2=${known.length * high} />
        <text class="scale" x=${at(value)} y=${known.length * high + 11} text-anchor=${value === 0 ? "start" : value === 1 ? "end" : "middle"}>${value}</text>
      </g>`,
    )}
    ${known.map((row, number) => {
      const y = number * high + high / 2;
      const { low, high: top, mean } = row.interval;
      return html`<g class=${row.kind}>
        <line class="span" x1=${at(low)} x2=${at(top)} y1=${y} y2=${y} />
        <circle cx=${at(mean)} cy=${y} r="5" />
      </g>`;
    })}
  </svg>`;
}

export function Interval({ value }) {
  if (!value) return html`<span class="soft">not measured</span>`;
  return html`<span class="number"><b>${score(value.mean)}</b> <span class="soft">[${score(value.low)}, ${score(value.high)}]</span></span>`;
}

export function Change({ value }) {
  return html`<span class="number"><b>${signed(value.mean)}</b> <span class="soft">[${signed(value.low)}, ${signed(value.high)}]</span></span>`;
}

/** What models that are simulated mean for a run. */
export function Simulated({ run }) {
  if (!run.simulated) return null;
  return html`<p class="warning">${run.dry ? "A dry run: the simulated models know none of these tasks, so what they solve means nothing." : "Simulated models: the scores say nothing about a real model."}</p>`;
}

export function Chip({ kind, children }) {
  return html`<span class="chip ${kind.replace(/\W/g, "-")}">${children}</span>`;
}

/** What a run came to: the verdict as a chip, beside it what it is about. */
export function Said({ kind, words }) {
  const [verdict, claim] = words.split(", ");
  return html`<${Chip} kind=${kind}>${verdict}<//>${claim ? html` <span class="soft">${claim}</span>` : null}`;
}

/** The colour of a score, or of what became of a failure, with the words for it. */
export function Cell({ kind, words = kind, more = "" }) {
  return html`<i class="cell ${kind} ${more}" role="img" aria-label=${words} title=${words}></i>`;
}

export function Diff({ text }) {
  const lines = text.replace(/\n$/, "").split("\n").slice(2); // after the names of both versions
  if (!text) return html`<p class="soft">nothing changed</p>`;
  return html`<pre class="diff" tabindex="0" aria-label="what changed">
${lines.map((line, at) => {
      if (line[0] === "@") return at ? html`<span class="at">${"...\n"}</span>` : null;
      return html`<span class=${{ "+": "plus", "-": "minus" }[line[0]] ?? ""}>${line + "\n"}</span>`;
    })}</pre>`;
}
