// Jobs: what waits, runs, was done or was given up, as it is now.

import { get, post, remove, segment } from "../lib/api.js";
import { Badge, Empty, Failure, Loaded, Page, Table, Tabs, When, of } from "../lib/parts.js";
import { go, html, plain, title, useAction, useEffect, useLoad } from "../lib/view.js";

const STATES = [["", "All"], ["waiting", "Waiting"], ["running", "Running"], ["parked", "Given up"], ["done", "Done"]];
const KINDS = { done: "good", parked: "bad", running: "careful" };
const EVERY = 5000; // milliseconds between two looks

export default function Jobs({ values, session }) {
  const shown = values.state || "";
  const state = useLoad(() => get("/v1/jobs", { state: shown }), [shown]);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || state.again(), EVERY);
    return () => clearInterval(timer);
  }, [shown]);
  return html`<${Page} wide heading="Jobs" lead="Work that is done beside requests: waiting, running, done, or given up after too many attempts.">
    <${Tabs} label="State" tabs=${STATES} chosen=${shown} choose=${(name) => go("jobs", [], { state: name })} />
    <${Loaded} state=${state}>${(jobs) => jobs.length
      ? html`<${List} jobs=${jobs} again=${state.again} may=${session.scopes.includes("write")} />`
      : html`<${Empty} heading="No jobs">${shown ? "None is in this state." : "Nothing has been given to do."}</${Empty}>`}</${Loaded}>
  </${Page}>`;
}

function List({ jobs, again, may }) {
  const act = useAction(async (work) => {
    await work();
    await again();
  });
  const columns = [
    { name: "Job", of: (job) => html`<strong>${title(job.kind)}</strong><div class="small muted">${plain(job.id)}</div>` },
    { name: "State", of: (job) => html`<${Badge} kind=${of(KINDS, job.state)}>${job.state === "parked" ? "Given up" : title(job.state)}</${Badge}>` },
    { name: "Due", of: (job) => html`<${When} at=${job.not_before} time />${job.every && html`<div class="small muted">every ${plain(job.every)} (${plain(job.zone)})</div>`}` },
    { name: "Attempts", number: true, of: (job) => job.attempts },
    { name: "Outcome", of: (job) => html`<${Outcome} job=${job} />` },
    { name: "", of: (job) => may && html`<${Actions} job=${job} act=${act} />` },
  ];
  return html`<div class="stack">
    ${act.error && html`<${Failure} error=${act.error} />`}
    <${Table} caption="Jobs" columns=${columns} rows=${jobs} />
  </div>`;
}

function Outcome({ job }) {
  if (job.error) return plain(job.error);
  if (job.result !== null && job.result !== undefined) return html`<code>${plain(JSON.stringify(job.result)).slice(0, 160)}</code>`;
  return html`<span class="muted">–</span>`;
}

function Actions({ job, act }) {
  return html`<div class="row">
    ${job.state === "parked" && html`<button class="small" disabled=${act.busy} onClick=${() => act.run(() => post(`/v1/jobs/${segment(job.id)}/retry`))}>Try again</button>`}
    ${job.state !== "running" && html`<button class="small danger" disabled=${act.busy} onClick=${() => act.run(() => remove(`/v1/jobs/${segment(job.id)}`))}>
      Remove<span class="visually-hidden"> ${plain(job.id)}</span></button>`}
  </div>`;
}
