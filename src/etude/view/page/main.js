// The frame: which run, which screen, the band that always shows how it stands, the keys.

import { h, render } from "./vendor/preact.js";
import { useEffect, useRef } from "./vendor/hooks.js";
import { Band } from "./band.js";
import { AttemptScreen } from "./attempt.js";
import { CostScreen } from "./cost.js";
import { clean, html } from "./html.js";
import { leftOut, still, useConnected, useDocument } from "./data.js";
import { Loaded } from "./parts.js";
import { NightScreen, NightsScreen } from "./nights.js";
import { go, to, usePlace } from "./place.js";
import { RunScreen } from "./run.js";
import { RunsScreen } from "./runs.js";
import { SkillScreen } from "./skill.js";
import { StepScreen, StepsScreen } from "./steps.js";
import { TasksScreen } from "./tasks.js";

const SCREENS = [
  ["", "Run", RunScreen],
  ["skill", "Skill", SkillScreen],
  ["steps", "Steps", StepsScreen],
  ["tasks", "Tasks", TasksScreen],
  ["cost", "Cost", CostScreen],
];

function screenOf(kind, rest) {
  if (kind === "attempts") return AttemptScreen;
  if ((kind === "steps" || kind === "epochs") && rest.length) return StepScreen;
  return SCREENS.find(([name]) => name === kind)?.[2] ?? RunScreen;
}

function App() {
  const place = usePlace();
  const [head, second, kind = "", ...rest] = place.parts;
  const run = head === "runs" ? second : undefined;
  useKeys(place);
  const within = kind === "skill" ? [] : rest; // the slider of the skill goes through its versions on one screen
  const screen = [head, second, kind, ...within].join("/");
  const title = titleOf(head, second, kind, rest);
  useEffect(() => {
    document.title = clean(title, 200);
  }, [title]);
  const first = useRef(screen);
  useEffect(() => {
    if (first.current === screen) return;
    first.current = null; // from now on whoever reads by ear or by key is taken to what is new
    scrollTo(0, 0);
    document.getElementById("content").focus({ preventScroll: true });
  }, [screen]);
  return html`
    <a class="skip" href="#content" onClick=${skip}>to the content</a>
    <header>
      <a class="brand" href=${to(["runs"])}>etude</a>
      ${run ? null : html`<${Places} head=${head} />`}
      ${run ? html`<a class="runname" href=${to(["runs", run])} title=${run} most=${80}>${run}</a>` : null}
      ${run
        ? html`<nav aria-label="screens of the run">
            ${SCREENS.map(
              ([name, title]) =>
                html`<a href=${to(["runs", run, ...(name ? [name] : [])])} aria-current=${same(kind, name) ? "page" : undefined}>${title}</a>`,
            )}
          </nav>`
        : null}
      <${Connection} />
    </header>
    ${run ? html`<${Band} run=${run} />` : null}
    <main id="content" tabindex="-1">
      ${leftOut.map((text) => html`<p class="note">${text}</p>`)}
      ${head === "nights"
        ? second
          ? html`<${NightScreen} key=${second} night=${second} />`
          : html`<${NightsScreen} />`
        : run
        ? html`<${Screen} key=${screen} of=${screenOf(kind, rest)} run=${run} kind=${kind} rest=${rest} query=${place.query} />`
        : html`<${AllRuns} query=${place.query} />`}
    </main>
    <footer>${still ? "A file of etude: nothing on this page changes. " : ""}Keys: j/k rows, 1–5 screens, / search</footer>
  `;
}

function Screen({ of, ...given }) {
  return h(of, { ...given, dry: useDocument(`runs/${given.run}`).data?.dry });
}

function titleOf(head, second, kind, rest) {
  if (head === "nights") return second ? `Night ${second} – etude` : "Nights – etude";
  if (!second) return "Runs – etude";
  const [, title] = SCREENS.find(([name]) => same(kind, name)) ?? SCREENS[0];
  const one = { steps: "Step", epochs: "Slow update", attempts: "Attempt", skill: "Skill after step" }[kind];
  return `${rest.length && one ? `${one} ${rest[0].replace(/^0+(?=\d)/, "")}` : title} – ${second} – etude`;
}

function AllRuns({ query }) {
  const state = useDocument("runs");
  return html`<${Loaded} state=${state}>${(runs) => html`<${RunsScreen} runs=${runs} query=${query} />`}<//>`;
}

/** Runs and nights, where there are nights. */
function Places({ head }) {
  const { data } = useDocument("nights");
  if (!data?.length) return null;
  const at = head === "nights" ? "nights" : "runs";
  return html`<nav aria-label="runs and nights">
    ${["runs", "nights"].map((name) => html`<a href=${to([name])} aria-current=${name === at ? "page" : undefined}>${name === "runs" ? "Runs" : "Nights"}</a>`)}
  </nav>`;
}

function skip(event) {
  event.preventDefault();
  document.getElementById("content").focus();
}

function same(kind, name) {
  return kind === name || (name === "steps" && kind === "epochs") || (name === "tasks" && kind === "attempts");
}

function Connection() {
  const connected = useConnected();
  return html`<p class="connection" role="status">${still || connected ? "" : "the server does not answer; trying again ..."}</p>`;
}

/** j and k go to the next and the last link of a list, 1 to 5 to a screen, / to the search field. */
function useKeys(place) {
  useEffect(() => {
    const pressed = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
      const run = place.parts[1];
      if (event.key === "/") {
        const field = document.querySelector("input[type=search]");
        if (field) {
          event.preventDefault();
          field.focus();
        }
      } else if ((event.key === "j" || event.key === "k") && step(event.key === "j" ? 1 : -1)) {
        event.preventDefault();
      } else if (run && /^[1-5]$/.test(event.key)) {
        const name = SCREENS[Number(event.key) - 1][0];
        go(to(["runs", run, ...(name ? [name] : [])]));
      }
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });
}

function step(by) {
  const rows = [...document.querySelectorAll("main [data-row]")];
  if (!rows.length) return false;
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const next = rows[Math.max(0, Math.min(rows.length - 1, at < 0 ? 0 : at + by))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
  return true;
}

document.getElementById("app").textContent = "";
render(h(App), document.getElementById("app"));
