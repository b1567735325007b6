// The skill with a gutter that says for each line why it is there; and how it came to be, step by step.

import { useDocument } from "./data.js";
import { html, several } from "./html.js";
import { Diff, Loaded, useInView } from "./parts.js";
import { go, to } from "./place.js";

export function SkillScreen({ run, rest, query }) {
  const state = useDocument(`runs/${run}/skill`);
  const at = rest[0] === undefined ? null : Number(rest[0]);
  return html`<h1>Skill</h1>
    <${Loaded} state=${state}>
      ${(page) => html`
        <${Slider} run=${run} versions=${page.versions} at=${at} />
        ${at === null ? html`<${Blamed} run=${run} page=${page} line=${Number(query.get("line")) || null} />` : html`<${Version} run=${run} step=${at} />`}
      `}
    <//>`;
}

function Slider({ run, versions, at }) {
  const place = at === null ? versions.length : Math.max(0, versions.indexOf(at));
  const change = (event) => {
    const number = Number(event.target.value);
    go(number === versions.length ? to(["runs", run, "skill"]) : to(["runs", run, "skill", String(versions[number])]), true);
  };
  const words = at === null ? "the skill, with the reason for each line" : at === 0 ? "the initial skill" : `after step ${at}`;
  return html`<p class="slider">
    <label>through the steps <input type="range" min="0" max=${versions.length} value=${place} onInput=${change} aria-valuetext=${words} /></label>
    <output>${words}</output>
  </p>`;
}

function Version({ run, step }) {
  const state = useDocument(`runs/${run}/skill/${step}`);
  return html`<${Loaded} state=${state}>
    ${(version) => html`
      ${step ? html`<section><h2>What this step changed</h2><${Diff} text=${version.diff} /><p><a href=${to(["runs", run, "steps", String(step).padStart(4, "0")])}>the step</a></p></section>` : null}
      <section><h2>${step ? "The skill after it" : "The skill before the run"}</h2><pre class="text" tabindex="0" aria-label="skill" most=${200_000}>${version.text}</pre></section>
    `}
  <//>`;
}

function Blamed({ run, page, line }) {
  const { provenance, lines } = page;
  const chosen = lines.find((each) => each.number === line);
  const own = lines.filter((each) => each.line.origin === "initial").length;
  const open = (number) => go(to(["runs", run, "skill"], { line: number === line ? null : number }), true);
  return html`
    <p class="soft">${several(lines.length, "line")}, ${several(provenance.tokens, "token")} with every attempt; ${own} lines of the initial skill. Choose a line to see what it rests on. <span class="minor">Cites: failed attempts that its edit answers. Solved: tasks of these that did better with all edits of its step. Needed: tasks that did better in most attempts with it. Proved: its own contest against the skill without it was won. Trusted: it entered on less. Not tested: it had no contest of its own.</span></p>
    <div class="skill">
      <div class="scroll" tabindex="0" role="region" aria-label="skill, line by line">
        <table class="blame">
          <thead><tr><th class="figure">line</th><th>from</th><th class="minor">standing</th><th class="figure minor">cites</th><th class="figure minor">solved</th><th class="figure minor">needed</th><th class="figure minor">tokens</th><th class="wide">text</th></tr></thead>
          <tbody>
            ${lines.map(
              (each) => html`<tr class="${each.line.origin} ${each.number === line ? "chosen" : ""}">
                <td class="figure soft"><button type="button" data-row class="plain" aria-expanded=${each.number === line} aria-label="line ${each.number}" onClick=${() => open(each.number)}>${each.number}</button></td>
                <td class="source">${each.place ? html`<a href=${to(["runs", run, ...each.place.split("/")])}>${each.source}</a>` : html`<span class="soft">${each.source}</span>`}</td>
                <td class="minor">${each.evidence?.standing ?? ""}</td>
                <td class="figure minor">${each.evidence?.cites ?? ""}</td>
                <td class="figure minor">${each.evidence?.solved ?? ""}</td>
                <td class="figure minor">${each.evidence?.needed ?? ""}</td>
                <td class="figure soft minor">${each.line.tokens || ""}</td>
                <td class="wide code" onClick=${() => open(each.number)} most=${4000}>${each.line.text}</td>
              </tr>`,
            )}
          </tbody>
        </table>
      </div>
      ${chosen ? html`<${Reasons} key=${line} run=${run} provenance=${provenance} each=${chosen} />` : null}
    </div>
  `;
}

function Reasons({ run, provenance, each }) {
  const change = each.line.change === null ? null : provenance.changes[each.line.change];
  const box = useInView();
  return html`<aside ref=${box} aria-label="why line ${each.number} is there">
    <h2>Line ${each.number}</h2>
    ${change === null
      ? html`<p>It stood in the initial skill.</p>`
      : html`
          <p>From ${each.place ? html`<a href=${to(["runs", run, ...each.place.split("/")])}>${each.source}</a>` : each.source}: <span most=${600}>${change.reason}</span></p>
          ${each.line.edits.map((number) => html`<${Edit} run=${run} proven=${change.edits[number]} />`)}
        `}
    <p class="soft">${several(each.line.tokens, "token")} with every attempt</p>
  </aside>`;
}

function Edit({ run, proven }) {
  const { edit, failures, solved, needed, standing, tested } = proven;
  return html`<div class="edit">
    <p><code>${edit.op.replace("_", " ")}</code> <span class="soft" most=${600}>${edit.reason}</span></p>
    <dl>
      <dt>cites</dt>
      <dd>${Object.entries(failures).map(([attempt, task]) => html`<a href=${to(["runs", run, "attempts", attempt])} title=${attempt} most=${60}>${task}</a> `)}${Object.keys(failures).length ? "" : "no attempt"}</dd>
      <dt>standing</dt>
      <dd most=${600}>${standing}${tested ? `: ${tested}` : ""}</dd>
      <dt>solved with all edits of the step</dt>
      <dd most=${2000}>${solved.join(", ") || "–"}</dd>
      <dt>solved in most attempts with it</dt>
      <dd most=${2000}>${needed.join(", ") || "–"}</dd>
      <dt>attempts behind it</dt>
      <dd>${proven.attempts}</dd>
    </dl>
  </div>`;
}
