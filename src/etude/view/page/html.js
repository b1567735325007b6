// What all parts of the page draw with. Data reaches the page as text nodes and attribute values only, never as HTML;
// every text passes `clean` on its way.

import { h } from "./vendor/preact.js";
import htm from "./vendor/htm.js";

const LONGEST = 20_000;
const ACTS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]/gu;

/** Characters that act on the page or on the reader's eye are shown instead; what is too long is cut. */
export function clean(text, most = LONGEST) {
  const cut = text.length > most ? `${text.slice(0, most)} ... (${count(text.length - most)} more characters)` : text;
  return cut.replace(ACTS, (found) => `<U+${found.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}>`);
}

function draw(type, props, ...children) {
  const most = props?.most ?? LONGEST;
  const own = props && { ...props };
  if (own) {
    delete own.most;
    delete own.dangerouslySetInnerHTML;
    if (typeof type === "string")
      for (const name in own) if (typeof own[name] === "string") own[name] = clean(own[name], 2_000);
  }
  return h(type, own, ...children.map((child) => cleaned(child, most)));
}

function cleaned(child, most) {
  if (typeof child === "string") return clean(child, most);
  return Array.isArray(child) ? child.map((each) => cleaned(each, most)) : child;
}

export const html = htm.bind(draw);

export function count(number) {
  return number.toLocaleString("en-US");
}

export function short(number) {
  if (number < 10_000) return count(number);
  return number < 1e6 ? `${(number / 1e3).toFixed(0)}k` : `${(number / 1e6).toFixed(1)}M`;
}

export function several(number, what) {
  return `${count(number)} ${what}${number === 1 ? "" : "s"}`;
}

export function money(usd) {
  if (usd === null || usd === undefined) return "price unknown";
  return usd >= 0.01 || usd === 0 ? `$${usd.toFixed(2)}` : `$${usd.toFixed(4)}`;
}

// Two decimals as Python rounds them: 0.625 is 0.62, where toFixed says 0.63. Only odd eighths are just between.
function fixed(value) {
  const half = Number.isInteger(8 * value) && Math.abs(8 * value) % 2 === 1;
  return half ? ((2 * Math.round(50 * value)) / 100).toFixed(2) : value.toFixed(2);
}

export function score(value) {
  return value === null || value === undefined ? "–" : fixed(value);
}

export function signed(value) {
  return `${value < 0 ? "−" : "+"}${fixed(Math.abs(value))}`;
}

export function duration(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (number) => String(number).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

/** The state of a score: what colours and words go by. In a dry run a score means nothing. */
export function stateOf(value, dry = false) {
  if (value === null || value === undefined) return "void";
  if (dry) return "attempted";
  return value >= 1 ? "solved" : value <= 0 ? "failed" : "partly";
}
