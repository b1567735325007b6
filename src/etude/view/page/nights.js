// Nights, and what one of them proposes: each rule is taken, taken in other words, or turned down on its own.

import { useState } from "./vendor/hooks.js";
import { act, still, useDocument } from "./data.js";
import { html, several } from "./html.js";
import { Chip, Loaded, Trouble } from "./parts.js";
import { to } from "./place.js";

export function NightsScreen() {
  const state = useDocument("nights");
  return html`<h1>Nights</h1>
    <${Loaded} state=${state}>
      ${(nights) => html`<div class="scroll" tabindex="0" role="region" aria-label="nights">
        <table>
          <thead><tr><th>night</th><th>how it ended</th><th class="wide">waits</th></tr></thead>
          <tbody>
            ${nights.map(
              (each) => html`<tr>
                <td><a data-row href=${to(["nights", String(each.night)])}>night ${each.night}</a></td>
                <td>${each.status || "no report yet"}</td>
                <td>${each.newest && /proposed|partly/.test(each.status) ? "it waits for you" : each.proposal && !each.newest ? "what waited of it is part of the newest" : ""}</td>
              </tr>`,
            )}
          </tbody>
        </table>
      </div>`}
    <//>`;
}

export function NightScreen({ night }) {
  const state = useDocument(`nights/${night}`);
  return html`<p class="near"><a href=${to(["nights"])}>all nights</a></p>
    <${Loaded} state=${state}>${(page) => html`<${Night} page=${page} />`}<//>`;
}

function Night({ page }) {
  const waiting = page.rules.filter((rule) => rule.state === "waits");
  const open = page.newest && !still;
  return html`
    <h1>Night ${page.night}</h1>
    <p>${page.rules.length ? waiting.length
      ? `${waiting.length} of ${several(page.rules.length, "rule")} ${waiting.length === 1 ? "waits" : "wait"}. Nothing changes before you say so.`
      : "Each rule is decided on." : `It proposes nothing${page.reason || page.status ? `: ${page.reason || page.status}` : ""}.`}</p>
    ${page.newest || !page.rules.length ? null : html`<p class="soft">A later night has a proposal, and what waited of this one is part of that.</p>`}
    ${page.rules.map((rule) => html`<${Rule} key=${rule.id} night=${page.night} rule=${rule} open=${open} />`)}
    ${page.statistics.length
      ? html`<details><summary>statistics</summary><pre class="text">${page.statistics.join("\n")}</pre></details>`
      : null}
    ${page.rules.some((rule) => rule.state === "adopted") ? html`<p class="soft">Take it back: <code>etude sleep revert ${page.night}</code></p>` : null}
  `;
}

function Rule({ night, rule, open }) {
  const [words, write] = useState(null);
  const [trouble, tell] = useState(null);
  const [busy, wait] = useState(false);
  const decide = (what, text) => {
    wait(true);
    const chosen = text === undefined ? {} : { [rule.id]: text };
    act(`nights/${night}`, { what, rules: [rule.id], words: chosen })
      .then(() => tell(null), tell)
      .then(() => {
        wait(false);
        write(null);
      });
  };
  const undecided = open && (rule.state === "waits" || rule.state === "taken out" || rule.state === "rejected");
  const kind = { adopted: "accepted", rejected: "rejected", waits: "inconclusive" }[rule.state] ?? "skipped";
  return html`<article class="rule" data-row tabindex="-1" aria-label="rule ${rule.id}">
    <p class="head"><${Chip} kind=${kind}>${rule.state}<//> <span class="soft">${rule.leaving ? "to take out of" : "into"} ${rule.document}, ${several(rule.tokens, "token")} ${rule.each_session ? "in every session" : "when that skill is opened"}, ${rule.id}${rule.since === null ? "" : `, since night ${rule.since}`}</span></p>
    <pre class="content ${rule.leaving ? "leaving" : ""}" most=${4000}>${rule.text}</pre>
    ${rule.tasks === null ? null : html`<${Measured} rule=${rule} />`}
    <ul class="lines">${rule.lines.map((line) => html`<li most=${600}>${line}</li>`)}</ul>
    ${trouble ? html`<${Trouble} error=${trouble} />` : null}
    ${undecided
      ? html`<p class="decide">
          <button type="button" disabled=${busy} onClick=${() => decide("take")}>take</button>
          ${rule.leaving ? null : html`<button type="button" disabled=${busy} onClick=${() => write(words === null ? rule.text : null)} aria-expanded=${words !== null}>take in other words</button>`}
          ${rule.state === "rejected" ? null : html`<button type="button" disabled=${busy} onClick=${() => decide("reject")}>turn down</button>`}
        </p>`
      : null}
    ${words === null
      ? null
      : html`<p class="decide">
          <textarea rows="3" aria-label="the rule in other words" value=${words} onInput=${(event) => write(event.target.value)}></textarea>
          <button type="button" disabled=${busy || !words.trim()} onClick=${() => decide("take", words.trim())}>take these words</button>
        </p>`}
  </article>`;
}

/** Tasks that came out right without the rule and with it. */
function Measured({ rule }) {
  const bar = (name, number, kind) => html`<dt>${name}</dt>
    <dd><span class="meter"><i class=${kind} style=${{ width: `${(100 * number) / Math.max(1, rule.tasks)}%` }}></i></span> <span class="number">${number} of ${rule.tasks}</span></dd>`;
  return html`<dl class="measured">${bar("without it", rule.without, "failed")}${bar("with it", rule.with_it, "solved")}</dl>`;
}
