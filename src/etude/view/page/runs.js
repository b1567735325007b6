// Runs side by side: those that can be compared stand together, the best test score first.

import { useEffect, useState } from "./vendor/hooks.js";
import { Curves, MARKS } from "./curve.js";
import { load } from "./data.js";
import { count, html, money, score, several, signed } from "./html.js";
import { Said, Simulated } from "./parts.js";
import { go, to } from "./place.js";

export function RunsScreen({ runs, query }) {
  const words = query.get("find") ?? "";
  const named = query.get("with");
  const chosen = named === null ? together(runs).slice(0, 4).map((run) => run.name) : named.split("/").map(decodeURIComponent);
  const set = (names) => go(to(["runs"], { with: names.map(encodeURIComponent).join("/") || "/", find: words }), true);
  const groups = new Map();
  for (const run of runs) if (run.name.includes(words)) groups.set(run.group, [...(groups.get(run.group) ?? []), run]);
  const choose = (run) => (event) => {
    const others = chosen.filter((name) => name !== run.name && runs.some((each) => each.name === name && each.group === run.group));
    set(event.target.checked ? [...others, run.name] : chosen.filter((name) => name !== run.name));
  };
  return html`
    <h1>Runs</h1>
    ${runs.length ? null : html`<p class="soft">no run has begun yet; this page shows it when one does</p>`}
    <p><label>find <input type="search" value=${words} onInput=${(event) => go(to(["runs"], { with: named ?? "", find: event.target.value }), true)} /></label></p>
    ${[...groups].map(([group, lines]) => html`<${Group} key=${group} lines=${lines} alone=${groups.size === 1} chosen=${chosen} choose=${choose} />`)}
    <${Overlay} names=${chosen.filter((name) => runs.some((run) => run.name === name))} runs=${runs} />
  `;
}

/** The runs of the first group that has several, else of the first one. */
function together(runs) {
  const first = runs.find((run) => runs.some((other) => other !== run && other.group === run.group)) ?? runs[0];
  return runs.filter((run) => run.group === first.group);
}

function Group({ lines, alone, chosen, choose }) {
  const { target, simulated } = lines[0];
  const tasks = lines.find((run) => run.initial)?.initial.n;
  const priced = lines.some((run) => run.usd !== 0);
  const tested = lines.filter((run) => run.test !== null).length;
  return html`<section>
    ${alone ? null : html`<h2 most=${200}>${target || "not known"}${tasks ? `, ${several(tasks, "test task")}` : ""}</h2>`}
    <p class="soft">${tested > 1 ? html`The same tasks and target, the best test score first; <code>etude compare</code> says whether two differ. ` : ""}</p>
    <${Simulated} run=${{ simulated, dry: lines.every((run) => run.dry) }} />
    <div class="scroll" tabindex="0" role="region" aria-label="runs with ${target}, ${lines[0].name} first">
      <table>
        <thead>
          <tr><th class="minor">curve</th><th>run</th><th>verdict</th><th class="figure">gain</th><th class="figure">initial</th><th class="figure">best</th><th class="figure minor">steps</th><th class="figure minor">calls</th>${priced ? html`<th class="figure minor">cost</th>` : null}</tr>
        </thead>
        <tbody>
          ${lines.map(
            (run) => html`<tr>
              <td class="minor"><input type="checkbox" aria-label="curve of ${run.name}" checked=${chosen.includes(run.name)} onChange=${choose(run)} /></td>
              <td class="word"><a data-row href=${to(["runs", run.name])} title=${run.name} most=${40}>${run.name}</a></td>
              <td>${run.state === "finished" && run.words ? html`<${Said} kind=${run.verdict ?? "none"} words=${run.words} />` : html`<i class="dot ${run.state}"></i> <span class=${run.state === "died" ? "warning" : ""}>${run.state}</span> <span class="soft minor" most=${120}>${run.why}</span>`}</td>
              <td class="figure">${run.gain ? html`<b>${signed(run.gain.mean)}</b> <span class="soft minor">[${signed(run.gain.low)}, ${signed(run.gain.high)}]</span>` : "–"}</td>
              <td class="figure">${score(run.initial?.mean)}</td>
              <td class="figure">${run.test === null && run.val !== null ? html`${score(run.val)} <span class="soft">validation</span>` : score(run.test)}</td>
              <td class="figure minor">${run.steps}</td>
              <td class="figure minor">${run.calls === null ? "–" : count(run.calls)}</td>
              ${priced ? html`<td class="figure minor">${run.calls === null || run.usd === 0 ? "–" : money(run.usd)}</td>` : null}
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}

function Overlay({ names, runs }) {
  const [curves, set] = useState({});
  const changed = names.map((name) => runs.find((run) => run.name === name).changed).join();
  useEffect(() => {
    let current = true;
    Promise.all(names.map((name) => load(`runs/${name}/curve`).catch(() => null))).then(
      (found) => current && set(Object.fromEntries(names.map((name, at) => [name, found[at]]))),
    );
    return () => {
      current = false;
    };
  }, [names.join("/"), changed]);
  const series = names
    .filter((name) => curves[name]?.turns.at(-1)?.tasks)
    .map((name) => ({ name: name.slice(0, 40), kind: "line", points: curves[name].turns.map((turn) => [turn.target_calls, turn.solved, turn.action]) }));
  if (!series.length) return null;
  const tasks = Math.max(...names.map((name) => curves[name]?.turns.at(-1)?.tasks ?? 1));
  return html`<section><h2>Training tasks solved</h2><${Curves} series=${series} top=${tasks} label="training tasks solved of several runs over the calls of the target" /><p class="legend soft">${MARKS}</p></section>`;
}
