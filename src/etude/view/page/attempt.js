// One attempt: the conversation, what came of it, and what the journal holds of it.

import { useDocument } from "./data.js";
import { count, html, money, score, stateOf } from "./html.js";
import { Cell, Chip, Loaded } from "./parts.js";
import { to } from "./place.js";
import { Gold } from "./tasks.js";

export function AttemptScreen({ run, rest, dry }) {
  const state = useDocument(`runs/${run}/attempts/${rest[0]}`);
  return html`<${Loaded} state=${state}>${(page) => html`<${Shown} run=${run} page=${page} dry=${dry} />`}<//>`;
}

function Shown({ run, page, dry }) {
  const { attempt, facts } = page;
  const kind = page.outcome === "void" ? "void" : stateOf(page.hard, dry);
  const usage = attempt?.trajectory.usage ?? total(facts);
  const seconds = facts.reduce((sum, fact) => sum + fact.seconds, 0);
  const others = page.others;
  return html`
    <h1>Attempt <span class="code">${page.name}</span> <${Chip} kind=${kind}>${page.outcome === "void" ? "errored" : kind}<//></h1>
    <dl class="facts">
      <dt>task</dt><dd><a href=${to(["runs", run, "tasks"], { split: page.split, task: page.task })} most=${200}>${page.task}</a> <span class="soft">${page.split}</span></dd>
      ${dry && !page.reason ? null : html`<dt>score</dt><dd>${score(page.hard)}${page.soft !== null && page.soft !== page.hard ? html` <span class="soft">soft ${score(page.soft)}</span>` : null} ${page.reason}</dd>`}
      ${attempt?.trajectory.ended === "cut off" ? html`<dt>cut off</dt><dd>at target.max_output_tokens</dd>` : null}
      <dt>skill</dt><dd>${page.skill}</dd>
      ${usage ? html`<dt>tokens</dt><dd class="number">${count(usage.input_tokens)} in${usage.cached_tokens ? ` (${count(usage.cached_tokens)} cached)` : ""}, ${count(usage.output_tokens)} out</dd>` : null}
      ${page.usd === 0 ? null : html`<dt>cost</dt><dd class="number">${money(page.usd)}</dd>`}
      ${facts.length ? html`<dt>time</dt><dd class="number">${seconds.toFixed(2)} s of work</dd>` : null}
      ${attempt?.score?.feedback ? html`<dt>feedback</dt><dd class="pre">${attempt.score.feedback}</dd>` : null}
    </dl>
    <${Answer} page=${page} />
    <section>
      <h2>Conversation</h2>
      ${attempt ? html`<${Conversation} attempt=${attempt} />` : html`<${FromFacts} page=${page} run=${run} />`}
    </section>
    ${facts.length
      ? html`<section>
          <h2>In the journal</h2>
          <${Waterfall} facts=${facts} />
        </section>`
      : null}
    ${others.length
      ? html`<section>
          <h2>Other attempts at this task</h2>
          <ul class="attempts">
            ${others.map((other) => html`<li><${Cell} kind=${stateOf(other.hard, dry)} /> <a data-row href=${to(["runs", run, "attempts", other.attempt])}>${other.attempt}</a> ${dry ? null : html`<b>${score(other.hard)}</b> `}<span class="soft">skill: ${other.skill}${other.skill === page.skill ? ", the same" : ""}</span></li>`)}
          </ul>
        </section>`
      : null}
  `;
}

function total(facts) {
  const known = facts.filter((fact) => fact.usage);
  if (!known.length) return null;
  return known.reduce(
    (sum, { usage }) => ({ input_tokens: sum.input_tokens + usage.input_tokens, cached_tokens: sum.cached_tokens + usage.cached_tokens, output_tokens: sum.output_tokens + usage.output_tokens }),
    { input_tokens: 0, cached_tokens: 0, output_tokens: 0 },
  );
}

function Answer({ page }) {
  return html`<section>
    <h2>What was asked and answered</h2>
    <div class="answers">
    ${page.input ? html`<div><h3>task</h3><pre class="text" most=${8000}>${page.input}</pre></div>` : null}
    <${Gold} gold=${page.gold} />
    <div><h3>answer</h3><pre class="text">${page.answer ?? "the run kept only the score"}</pre></div>
    </div>
  </section>`;
}

function Conversation({ attempt }) {
  const { messages, answer, exit_codes: codes } = attempt.trajectory;
  if (!messages.length) return html`<${Turn} role="user" text=${attempt.task.input} /><${Turn} role="assistant" text=${answer} />`;
  const names = Object.fromEntries(messages.flatMap((message) => message.tool_calls.map((call) => [call.id, call.name])));
  return messages.map((message) => html`<${Turn} role=${message.role} text=${said(message)} calls=${message.tool_calls} tool=${names[message.tool_call_id]} code=${codes[message.tool_call_id]} />`);
}

function said(message) {
  return message.content.map((part) => (part.type === "text" ? part.text : "[image]")).join("\n");
}

function Turn({ role, text, calls = [], tool, code }) {
  const head = role === "tool" ? `tool ${tool ?? ""}${code === undefined ? "" : `, exit code ${code}`}` : role;
  const body = html`<pre class="text" most=${40_000}>${text}</pre>`;
  const folded = role === "tool" || role === "system";
  return html`<article class="turn ${role}">
    ${folded ? html`<details><summary>${head} <span class="soft">${count(text.length)} characters</span></summary>${body}</details>` : html`<h3>${head}</h3>${text ? body : null}`}
    ${calls.map((call) => html`<details><summary>calls <b most=${80}>${call.name}</b></summary><pre class="text">${call.arguments}</pre></details>`)}
  </article>`;
}

/** Where no step kept the attempt: the answers that the journal holds, and what they answer where it kept that. */
function FromFacts({ page, run }) {
  const replies = page.facts.filter((fact) => fact.usage);
  if (!replies.length) return html`<p class="soft">The run kept only the score. <code>etude show ${run} --attempt ${page.name}</code> makes the attempt again from the journal.</p>`;
  const last = replies.at(-1);
  const asked = last.asked.map((message) => html`<${Turn} role=${message.role} text=${said(message)} calls=${message.tool_calls} />`);
  const before = last.asked.length ? [] : replies.slice(0, -1);
  return html`
    ${last.asked.length ? null : html`<p class="soft">The journal keeps long questions as a hash only. <code>etude show ${run} --attempt ${page.name}</code> prints all of it.</p>`}
    ${asked} ${before.map((fact) => html`<${Turn} role="assistant" text=${fact.said} />`)}
    <${Turn} role="assistant" text=${last.said} />
  `;
}

/** The facts over time, each as long as it took. */
function Waterfall({ facts }) {
  const ends = facts.map((fact) => Date.parse(fact.created) / 1000);
  const begin = Math.min(...facts.map((fact, at) => ends[at] - fact.seconds));
  const all = Math.max(...ends) - begin || 1;
  return html`<ol class="waterfall">
    ${facts.map((fact, at) => {
      const left = Math.max(0, (100 * (ends[at] - fact.seconds - begin)) / all);
      const wide = Math.min(100 - left, Math.max(1, (100 * fact.seconds) / all));
      const row = html`<span class="code">${fact.name}</span>
        <span class="bar"><i style=${{ left: `${left}%`, width: `${wide}%` }}></i></span>
        <span class="number soft">${fact.seconds.toFixed(2)} s${fact.usage ? `, ${count(fact.usage.output_tokens)} tokens out` : ""}</span>`;
      if (!fact.said) return html`<li class="row">${row}</li>`;
      return html`<li><details><summary class="row">${row}</summary><pre class="text" most=${40_000}>${fact.said}</pre></details></li>`;
    })}
  </ol>`;
}
