// Timeline: what happened when, by day, with a bar for each month to choose from.

import { post } from "../lib/api.js";
import { Badge, Empty, Loaded, Memory, Page, RecordLink } from "../lib/parts.js";
import { count, dateText, excerptOf, go, html, plain, plural, title, titleOf, useEffect, useLoad, useRef, useState } from "../lib/view.js";

const AT_ONCE = 1000; // moments of a request
const MOST = 10_000; // moments that are looked through
const SHOWN = 60; // moments at once
const PEOPLE = 6; // of a moment, and topics, at most
const MONTHS = /^\d{4}-(0[1-9]|1[0-2])$/;

export default function Timeline({ values }) {
  const state = useLoad(newest, []);
  return html`<${Page} heading="Timeline" lead="Meetings, conversations and documents in the order they happened.">
    <${Loaded} state=${state}>${(moments) => moments.length
      ? html`<${Days} moments=${moments.filter((moment) => moment.starts_at)} isWhole=${moments.length < MOST} chosen=${MONTHS.test(values.month) ? values.month : ""} about=${values.about} />`
      : html`<${Empty} heading="No moments yet">Documents and chats with a date make some; so do dreams.</${Empty}>`}
    </${Loaded}>
  </${Page}>`;
}

// Give the newest moments, in the order they happened.
async function newest() {
  const found = [];
  while (found.length < MOST) {
    const order = [["starts_at", "desc"], ["id", "asc"]];
    const some = await post("/v1/records/query", { schema: "moments", order, limit: AT_ONCE, offset: found.length });
    found.push(...some);
    if (some.length < AT_ONCE) break;
  }
  return found.toReversed();
}

const monthOf = (moment) => moment.starts_at.slice(0, 7);
const dayOf = (moment) => moment.starts_at.slice(0, 10);

function Days({ moments, isWhole, chosen, about = "" }) {
  const [most, setMost] = useState(SHOWN);
  const words = about.trim().toLowerCase();
  const found = moments.filter((moment) => !words || JSON.stringify(moment).toLowerCase().includes(words));
  const kept = found.filter((moment) => !chosen || monthOf(moment) === chosen);
  // the newest first
  const shown = kept.toReversed().slice(0, most);
  return html`<div class="stack">
    <div class="field">
      <label for="about">About</label>
      <input id="about" data-search value=${about} placeholder="A person, a place, a topic"
        onInput=${(event) => go("timeline", [], { month: chosen, about: event.target.value })} />
    </div>
    <${Months} moments=${found} chosen=${chosen} about=${about} />
    <p class="row muted small" role="status">${plural(kept.length, "moment")}${isWhole ? "" : ` of the newest ${count(MOST)}`}${chosen ? ` in ${monthText(chosen)}` : ""}
      ${chosen && html`<button class="quiet" onClick=${() => go("timeline", [], { about })}>Show all months</button>`}</p>
    ${Object.entries(Object.groupBy(shown, dayOf)).map(([day, ones]) => html`<section class="day" key=${day}>
      <h2><time datetime=${day}>${dateText(`${day}T12:00:00Z`)}</time></h2>
      <div class="stack">${ones.map((moment) => html`<${Moment} key=${moment.id} moment=${moment} />`)}</div>
    </section>`)}
    ${kept.length > most && html`<div><button onClick=${() => setMost(most + SHOWN)}>Show earlier ones</button></div>`}
  </div>`;
}

function Months({ moments, chosen, about }) {
  const counts = Object.entries(Object.groupBy(moments, monthOf)).map(([month, ones]) => [month, ones.length]);
  // the newest stand in view
  const list = useRef(null);
  useEffect(() => list.current?.scrollTo({ left: list.current.scrollWidth }), [counts.length]);
  if (counts.length < 2) return null;
  const most = Math.max(...counts.map(([, number]) => number));
  return html`<ul class="months" ref=${list} aria-label="Moments by month">${counts.sort().map(([month, number]) => html`<li>
    <button aria-pressed=${String(month === chosen)} title=${`${monthText(month)}: ${count(number)}`}
      aria-label=${`${monthText(month)}: ${plural(number, "moment")}`}
      onClick=${() => go("timeline", [], { month: month === chosen ? "" : month, about })}>
      <span class="count">${count(number)}</span>
      <span class="filled" style=${{ height: `${(60 * number) / most}%` }}></span>
      <span class="month">${SHORT.format(dayIn(month))}</span>
    </button>
  </li>`)}</ul>`;
}

const MONTH = new Intl.DateTimeFormat(undefined, { month: "long", year: "numeric", timeZone: "UTC" });
const SHORT = new Intl.DateTimeFormat(undefined, { month: "short", year: "2-digit", timeZone: "UTC" });
const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const dayIn = (month) => new Date(`${month}-15T00:00:00Z`);
const monthText = (month) => MONTH.format(dayIn(month));

function Moment({ moment }) {
  const people = [...(moment.present_persons || []), ...(moment.speakers || [])].map((person) => person.name);
  const names = [...new Set(people)];
  const topics = (moment.topic_tags || []).slice(0, PEOPLE);
  return html`<article class="stack tight">
    <div class="row">
      <h3><${RecordLink} to=${moment.id}>${titleOf(moment, TIME.format(new Date(moment.starts_at)))}</${RecordLink}></h3>
      <${Badge}>${title(moment.type || "moment")}</${Badge}>
    </div>
    ${moment.summary && html`<${Memory} text=${excerptOf(moment.summary)} />`}
    ${names.length > 0 && html`<p class="small muted">With ${names.slice(0, PEOPLE).map((name, index) => html`${index > 0 && ", "}<${RecordLink} to=${name} />`)}
      ${names.length > PEOPLE && ` and ${names.length - PEOPLE} more`}</p>`}
    ${topics.length > 0 && html`<p class="small muted">About ${plain(topics.join(", "))}</p>`}
  </article>`;
}
