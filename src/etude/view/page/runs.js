// Runs side by side.

import { useEffect, useState } from "./vendor/hooks.js";
import { Curves, MARKS } from "./curve.js";
import { load } from "./data.js";
import { count, html, money, score } from "./html.js";
import { go, to } from "./place.js";

export function RunsScreen({ runs, query }) {
  const named = query.get("with");
  const words = query.get("find") ?? "";
  const chosen = (named === null ? runs.slice(0, 4).map((run) => run.name) : named.split("/").map(decodeURIComponent)).filter((name) =>
    runs.some((run) => run.name === name),
  );
  const set = (names) => go(to(["runs"], { with: names.map(encodeURIComponent).join("/") || "/", find: words }), true);
  const shown = runs.filter((run) => run.name.includes(words));
  return html`
    <h1>Runs</h1>
    ${runs.length ? html`<${Overlay} names=${chosen} runs=${runs} />` : html`<p class="soft">no run has begun yet; this page shows it when one does</p>`}
    <p><label>find <input type="search" value=${words} onInput=${(event) => go(to(["runs"], { with: named ?? "", find: event.target.value }), true)} /></label></p>
    <div class="scroll" tabindex="0" role="region" aria-label="runs">
      <table>
        <thead>
          <tr><th>curve</th><th>run</th><th>state</th><th class="figure minor">steps</th><th class="figure minor">validation</th><th class="figure">test</th><th class="figure">calls</th><th class="figure minor">cost</th></tr>
        </thead>
        <tbody>
          ${shown.map(
            (run) => html`<tr>
              <td>
                <input type="checkbox" aria-label="curve of ${run.name}" checked=${chosen.includes(run.name)}
                  onChange=${(event) => set(event.target.checked ? [...chosen, run.name] : chosen.filter((name) => name !== run.name))} />
              </td>
              <td><a data-row href=${to(["runs", run.name])} title=${run.name} most=${80}>${run.name}</a></td>
              <td><span class="dot ${run.state}"></span> ${run.state}</td>
              <td class="figure minor">${run.steps}</td>
              <td class="figure minor">${score(run.val)}</td>
              <td class="figure">${score(run.test)}</td>
              <td class="figure">${run.calls === null ? "–" : count(run.calls)}</td>
              <td class="figure minor">${run.calls === null ? "–" : money(run.usd)}</td>
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${runs.some((run) => run.simulated) ? html`<p class="soft">Some runs had simulated models: their scores say nothing about a real model.</p>` : null}
  `;
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
    .filter((name) => curves[name]?.points.length)
    .map((name) => {
      const { points } = curves[name];
      const value = points.some((point) => point.val !== null) ? "val" : "solved";
      return { name: `${name.slice(0, 40)}: ${value === "val" ? "validation" : "failures solved"}`, kind: "line", points: points.filter((point) => point[value] !== null).map((point) => [point.calls, point[value], point.action]) };
    })
    .filter((one) => one.points.length);
  if (!series.length) return null;
  return html`<section><h2>Scores over calls</h2><${Curves} series=${series} label="scores of several runs over the calls of the target" /><p class="legend soft">${MARKS} Failures solved: of the training tasks seen to fail so far, where a search measures no validation score on its way.</p></section>`;
}
