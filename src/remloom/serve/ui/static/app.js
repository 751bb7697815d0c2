// The frame of the pages: who is signed in, the list of pages, the address, shortcuts and colours.

import { get, onSignedOut, post, remove } from "./lib/api.js";
import { Dialog, Failure, Field } from "./lib/parts.js";
import { addressOf, go, hrefOf, html, render, useAction, useEffect, useLayoutEffect, useRef, useState } from "./lib/view.js";

// by group: the address of each page, its name, and the key that follows "g"
const PAGES = [
  ["Memory", [["ask", "Ask", "a"], ["timeline", "Timeline", "t"], ["graph", "Graph", "r"], ["console", "Console", "c"]]],
  ["Knowledge", [["profile", "Profile", "p"], ["documents", "Documents", "d"], ["dreams", "Dreams", "m"]]],
  ["Server", [["jobs", "Jobs", "j"], ["keys", "Keys and audit", "k"]]],
];
const ALL = PAGES.flatMap(([, pages]) => pages);
const NAMES = new Map([...ALL, ["record", "Record"]]);

function App() {
  const [session, setSession] = useState(undefined);
  useEffect(() => {
    get("/v1/session").then(setSession, () => setSession(null));
    return onSignedOut(() => setSession(null));
  }, []);
  if (session === undefined) return html`<main><p class="busy" role="status">Loading</p></main>`;
  if (session === null) return html`<${SignIn} enter=${setSession} />`;
  return html`<${Frame} session=${session} leave=${() => setSession(null)} />`;
}

function SignIn({ enter }) {
  const [key, setKey] = useState("");
  const signIn = useAction(async () => enter(await post("/v1/session", { key: key.trim() })));
  const submit = (event) => {
    event.preventDefault();
    signIn.run();
  };
  return html`<main class="door">
    <div class="page-head">
      <h1>Remloom</h1>
      <p class="muted">Sign in with a key of this server. It was printed when the server first started; <code>remloom keys create</code> makes another.</p>
    </div>
    <form class="card" onSubmit=${submit}>
      <${Field} label="Key">${(given) => html`<input ...${given} type="password" autocomplete="current-password" required autofocus
        spellcheck=${false} placeholder="rlm_…" value=${key} onInput=${(event) => setKey(event.target.value)} />`}</${Field}>
      <button class="primary" disabled=${signIn.busy}>${signIn.busy ? "Signing in" : "Sign in"}</button>
      ${signIn.error && html`<${Failure} error=${signIn.error} />`}
    </form>
    <p class="small muted">The key is exchanged for a cookie that scripts cannot read. Nothing is sent anywhere but to this server.</p>
  </main>`;
}

function Frame({ session, leave }) {
  const address = useAddress();
  const [isOpen, setOpen] = useState(false);
  const [help, setHelp] = useState(false);
  useShortcuts(() => setHelp(true));
  useEffect(() => setOpen(false), [address.page]);
  const signOut = () => remove("/v1/session").then(leave, leave);
  const side = isOpen ? "side open" : "side";
  return html`<a class="skip" href="#main" onClick=${toMain}>Skip to the page</a>
    <div class="frame">
      <header class=${side}>
        <a class="brand" href="#/ask"><img src="favicon.svg" alt="" />Remloom</a>
        <button class="menu-button small" aria-expanded=${String(isOpen)} aria-controls="pages" onClick=${() => setOpen(!isOpen)}>Menu</button>
        <nav class="pages" id="pages" aria-label="Pages">${PAGES.map(([group, pages]) => html`<div>
          <h2>${group}</h2>
          <ul>${pages.map(([page, name]) => html`<li><a href=${hrefOf(page)}
            aria-current=${page === address.page ? "page" : undefined}>${name}</a></li>`)}</ul>
        </div>`)}</nav>
        <div class="side-foot">
          <span>Memory <strong>${session.tenant || "of each call"}</strong>, key <code>${session.key_id}</code></span>
          <div class="stack">
            <${Theme} />
            <button class="small" onClick=${() => setHelp(true)}>Shortcuts <kbd>?</kbd></button>
            <button class="small" onClick=${signOut}>Sign out</button>
          </div>
        </div>
      </header>
      <main id="main" tabindex="-1"><${Shown} address=${address} session=${session} /></main>
    </div>
    ${help && html`<${Help} close=${() => setHelp(false)} />`}`;
}

// Load the module of a page when it is first opened, and show it.
function Shown({ address, session }) {
  const [shown, setShown] = useState({});
  const { page } = address;
  useEffect(() => {
    document.title = `${NAMES.get(page) || "Not found"} · Remloom`;
    if (!NAMES.has(page)) return setShown({ page, none: true });
    import(`./pages/${page}.js`).then(
      (module) => setShown({ page, View: module.default }),
      (error) => setShown({ page, error }),
    );
  }, [page]);
  if (shown.page !== page) return html`<p class="busy" role="status">Loading</p>`;
  if (shown.error) return html`<${Failure} error=${shown.error} />`;
  if (shown.none) return html`<h1>There is no such page</h1><p>The list of pages has those that there are.</p>`;
  return html`<${shown.View} key=${page} rest=${address.rest} values=${address.values} session=${session} />`;
}

function useAddress() {
  const [address, setAddress] = useState(addressOf);
  const page = useRef(address.page);
  const first = useRef(location.hash);
  useEffect(() => {
    const changed = () => {
      const next = addressOf();
      setAddress(next);
      // whoever listens to the page hears that another one was opened
      if (next.page !== page.current) requestAnimationFrame(() => document.querySelector("#main")?.focus());
      page.current = next.page;
    };
    addEventListener("hashchange", changed);
    // who is quick chose another page before anything listened
    if (location.hash !== first.current) changed();
    return () => removeEventListener("hashchange", changed);
  }, []);
  return address;
}

function toMain(event) {
  event.preventDefault();
  document.querySelector("#main").focus();
}

// -- shortcuts -------------------------------------------------------------------------------------

const OFF = "remloom-shortcuts-off";

function useShortcuts(help) {
  // before the first frame: nothing that is pressed by whoever sees the page is lost
  useLayoutEffect(() => {
    let isGoing = false;
    const pressed = (event) => {
      const isTyping = event.target.closest?.("input, textarea, select, [contenteditable]");
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey || localStorage.getItem(OFF)) return;
      if (document.querySelector("dialog[open]")) return;
      const page = isGoing && ALL.find(([, , key]) => key === event.key);
      isGoing = event.key === "g";
      if (page) go(page[0]);
      else if (event.key === "?") help();
      else if (event.key === "/") document.querySelector("[data-search]")?.focus();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}

function Help({ close }) {
  const [isOff, setOff] = useState(Boolean(localStorage.getItem(OFF)));
  const turn = (event) => {
    setOff(!event.target.checked);
    if (event.target.checked) localStorage.removeItem(OFF);
    else localStorage.setItem(OFF, "1");
  };
  return html`<${Dialog} heading="Shortcuts" close=${close}>
    <dl class="facts">
      <dt><kbd>/</kbd></dt><dd>Go to the field of the page</dd>
      <dt><kbd>?</kbd></dt><dd>Show this list</dd>
      <dt><kbd>Ctrl</kbd> <kbd>Enter</kbd></dt><dd>Run the statement in the console</dd>
      <dt><kbd>Esc</kbd></dt><dd>Close a dialog or a list</dd>
      ${ALL.map(([, name, key]) => html`<dt><kbd>g</kbd> <kbd>${key}</kbd></dt><dd>${name}</dd>`)}
    </dl>
    <label class="check"><input type="checkbox" checked=${!isOff} onChange=${turn} />Shortcuts are on</label>
    <div class="row"><button autofocus onClick=${close}>Close</button></div>
  </${Dialog}>`;
}

// -- colours ---------------------------------------------------------------------------------------

const THEME = "remloom-theme";
const SCHEMES = { "": "Colours: system", light: "Colours: light", dark: "Colours: dark" };

function Theme() {
  const [theme, setTheme] = useState(() => [localStorage.getItem(THEME)].find((name) => name && Object.hasOwn(SCHEMES, name)) || "");
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem(THEME, theme);
    dispatchEvent(new Event("remloom-theme"));
  }, [theme]);
  const names = Object.keys(SCHEMES);
  const next = () => setTheme(names[(names.indexOf(theme) + 1) % names.length]);
  return html`<button class="small" onClick=${next}>${SCHEMES[theme]}</button>`;
}

render(html`<${App} />`, document.querySelector("#app"));
