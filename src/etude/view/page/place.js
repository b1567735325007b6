// Which screen is shown is in the address, so that each view can be shared, kept and reloaded.

import { useEffect, useState } from "./vendor/hooks.js";

function read() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").filter(Boolean).map(decoded);
  return { parts, query: new URLSearchParams(query ?? "") };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The place as `{parts, query}`. */
export function usePlace() {
  const [place, set] = useState(read);
  useEffect(() => {
    const changed = () => set(read());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return place;
}

/** The address of a screen. */
export function to(parts, query = {}) {
  const set = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const words = set.length ? `?${new URLSearchParams(set)}` : "";
  return `#/${parts.map((part) => encodeURIComponent(part)).join("/")}${words}`;
}

/** Go there; `replace` leaves no step to go back to. */
export function go(address, replace = false) {
  if (!replace) {
    location.hash = address;
    return;
  }
  history.replaceState(null, "", address);
  dispatchEvent(new HashChangeEvent("hashchange"));
}
