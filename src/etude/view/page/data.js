// Where documents come from: the server that this page was loaded from, or the file that it is.

import { useEffect, useState } from "./vendor/hooks.js";

const inside = document.getElementById("documents");
const file = inside && JSON.parse(inside.textContent);

/** Whether the page is a file: nothing changes, nothing can be stopped. */
export const still = file !== null;
/** What a file leaves out, and why, in sentences. */
export const leftOut = file?.left_out ?? [];

const listeners = new Set();
let stamps = {};
let connected = true;

class Refused extends Error {
  constructor(message, hint) {
    super(message);
    this.hint = hint;
  }
}

/** A document by its name, as in `runs/first/steps/0003`. */
export async function load(name) {
  if (still) return found(name);
  let answer;
  try {
    answer = await fetch(`data/${name.split("/").map(encodeURIComponent).join("/")}`);
  } catch {
    throw new Refused("the server does not answer", "start `etude view` again; this page goes on by itself");
  }
  const body = await answer.json().catch(() => ({ error: `the server answered ${answer.status}` }));
  if (!answer.ok) throw new Refused(body.error, body.hint ?? "");
  return body;
}

async function found(name) {
  if (Object.hasOwn(file.documents, name)) return file.documents[name];
  const places = await unpacked(file.index);
  if (!Object.hasOwn(places, name)) throw new Refused("this file does not have it", leftOut.join(" "));
  return (await unpacked(places[name]))[name];
}

const shards = new Map();

/** The documents of a shard: gzip in base64 in a script element of its own. */
function unpacked(number) {
  if (!shards.has(number)) {
    const text = document.getElementById(`shard-${number}`).textContent;
    const bytes = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    shards.set(number, new Response(stream).json());
  }
  return shards.get(number);
}

/** The document of that name, read again when its run changes: `{data, error}`, both null at first. */
export function useDocument(name) {
  const [state, set] = useState({ name: null, data: null, error: null });
  useEffect(() => {
    let current = true;
    let waiting = null;
    let rest = 0;
    let missed = false;
    const read = () => {
      if (waiting !== null) {
        missed = true;
        return;
      }
      waiting = setTimeout(reading, Math.max(0, rest - Date.now()));
    };
    // What takes long to make is asked for less often, so that watching a run does not slow it.
    const reading = () => {
      const begun = Date.now();
      load(name)
        .then(
          (data) => current && set({ name, data, error: null }),
          (error) => current && set((old) => ({ name, data: old.name === name ? old.data : null, error })),
        )
        .finally(() => {
          rest = Date.now() + 4 * (Date.now() - begun);
          waiting = null;
          if (missed && current) read();
          missed = false;
        });
    };
    const [head, run] = name.split("/");
    const listen = (changed) => {
      if (head === "nights" ? changed.has("/nights") : run === undefined || changed.has(run)) read();
    };
    read();
    listeners.add(listen);
    return () => {
      current = false;
      clearTimeout(waiting);
      listeners.delete(listen);
    };
  }, [name]);
  return state.name === name ? state : { name, data: null, error: null };
}

/** Whether the server can be reached. */
export function useConnected() {
  const [value, set] = useState(connected);
  useEffect(() => {
    const listen = () => set(connected);
    listeners.add(listen);
    return () => listeners.delete(listen);
  }, []);
  return value;
}

/** Ask the server to do something: the only requests that change anything. */
export async function act(name, body = {}) {
  const token = location.pathname.split("/")[1];
  const answer = await fetch(`act/${name.split("/").map(encodeURIComponent).join("/")}`, {
    method: "POST",
    headers: { "x-etude-token": token, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const told = await answer.json().catch(() => ({ error: `the server answered ${answer.status}` }));
  if (!answer.ok) throw new Refused(told.error, told.hint ?? "");
  return told;
}

function tell(changed) {
  for (const listener of [...listeners]) listener(changed);
}

function listen() {
  const events = new EventSource("events");
  events.onmessage = (event) => {
    const now = JSON.parse(event.data);
    const names = new Set([...Object.keys(now), ...Object.keys(stamps)]);
    const changed = new Set([...names].filter((name) => !connected || now[name] !== stamps[name]));
    stamps = now;
    connected = true;
    tell(changed);
  };
  events.onerror = () => {
    connected = false;
    tell(new Set());
    if (events.readyState === EventSource.CLOSED) setTimeout(listen, 1_000);
  };
}

if (!still) listen();
