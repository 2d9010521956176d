// The palette: pages and commands at once, and objects that the server finds while the user types.
"use strict";

(() => {
  const WAIT_MS = 150; // after the last key, before the server is asked
  const JOB_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
  const palette = document.getElementById("palette");
  if (!palette) return; // nobody is logged in

  const opener = document.getElementById("palette-open");
  const wanted = palette.querySelector("input");
  const list = palette.querySelector("[role=listbox]");
  const status = palette.querySelector("[role=status]");
  const { jobs, lookup } = palette.dataset;
  let objects = []; // that the server has found
  let actions = []; // on these objects
  let entries = [];
  let chosen = 0;
  let hasMoved = false;
  let timer = 0;
  let request = null;

  const link = (kind, label, href, fact = "") => ({ kind, label, fact, run: () => window.location.assign(href) });
  const command = (label, run) => ({ kind: "Command", label, fact: "", run });
  const keyOf = (entry) => entry && `${entry.kind} ${entry.label}`;
  const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);

  function matching(some, text) {
    const words = wordsOf(text);
    return some.filter((one) => words.every((word) => `${one.label} ${one.fact}`.toLowerCase().includes(word)));
  }

  function pages() {
    return [...document.querySelectorAll(".top nav a")].map((one) => link("Page", one.textContent.trim(), one.href));
  }

  function commands() {
    const themes = ["system", "light", "dark"].map((theme) => command(`Theme: ${theme}`, () => {
      localStorage.setItem("ojs.theme", theme);
      document.documentElement.dataset.theme = theme;
      document.dispatchEvent(new Event("ojs:theme"));
    }));
    const help = command("Keyboard shortcuts", () => document.getElementById("help").showModal());
    return [...themes, ...displays(), help];
  }

  // The choices of the form at the foot of the page; the server keeps and applies them.
  function displays() {
    const form = document.getElementById("display");
    return [...form.querySelectorAll("select")].flatMap((field) => [...field.options].map((option) => (
      command(`${field.labels[0].firstChild.textContent.trim()}: ${option.text}`, () => {
        field.value = option.value;
        form.requestSubmit();
      })
    )));
  }

  // The last entries: lists of jobs by the typed text.
  function searches(text) {
    // no queue and no type has a space in its name
    const names = /\s/.test(text) || JOB_ID.test(text) ? [] : [["Jobs of queue", "queue"], ["Jobs of type", "type"]];
    const by = [...names, ["Search jobs whose arguments contain", "args"]];
    return by.map(([words, name]) => link("Jobs", `${words} “${text}”`, `${jobs}?${new URLSearchParams({ [name]: text })}`));
  }

  function all(text) {
    const local = matching([...pages(), ...commands()], text);
    if (!text) return local;
    const isKnown = objects.some((one) => one.label === text.toLowerCase());
    const job = JOB_ID.test(text) && !isKnown ? [link("Job", text.toLowerCase(), `${jobs}${text.toLowerCase()}/`)] : [];
    const [first] = wordsOf(text);
    const meant = matching(actions, text).filter((one) => one.label.toLowerCase().startsWith(first));
    const others = actions.filter((one) => !meant.includes(one));
    return [...job, ...local, ...meant, ...objects, ...others, ...searches(text)];
  }

  function shown(entry, n) {
    const item = document.createElement("li");
    item.id = `command-${n}`;
    item.role = "option";
    item.ariaSelected = String(n === chosen);
    const parts = [["span", entry.kind, "kind"], ["b", entry.label, ""], ["span", entry.fact, ""]];
    for (const [tag, text, name] of parts.filter(([, text]) => text)) {
      const part = document.createElement(tag);
      part.textContent = text; // a name may contain HTML
      if (name) part.className = name;
      item.append(part, " ");
    }
    item.addEventListener("click", () => run(entry));
    return item;
  }

  function show() {
    const before = keyOf(entries[chosen]);
    entries = all(wanted.value.trim());
    const same = hasMoved ? entries.findIndex((one) => keyOf(one) === before) : 0;
    chosen = Math.max(0, same);
    list.replaceChildren(...entries.map(shown));
    mark();
  }

  function mark() {
    [...list.children].forEach((item, n) => { item.ariaSelected = String(n === chosen); });
    if (entries.length) wanted.setAttribute("aria-activedescendant", `command-${chosen}`);
    else wanted.removeAttribute("aria-activedescendant");
    list.children[chosen]?.scrollIntoView({ block: "nearest" });
  }

  function run(entry) {
    palette.close();
    entry?.run();
  }

  // The form of an action is the form of its page, with its question and its reason.
  function act(form) {
    form.elements.namedItem("next").value = window.location.pathname + window.location.search;
    document.getElementById("palette-form").replaceChildren(form);
    form.requestSubmit(form.querySelector("button"));
  }

  function actionsOf(one) {
    const forms = new DOMParser().parseFromString(one.forms, "text/html").querySelectorAll("form");
    const named = (verb) => `${verb.replace(/ now$/, "")} ${one.kind.toLowerCase()} ${one.name}${/ now$/.test(verb) ? " now" : ""}`;
    return [...forms].map((form) => ({
      kind: "Action",
      label: named(nameOf(form.querySelector("button"))),
      fact: "",
      run: () => act(form),
    }));
  }

  function take(results) {
    objects = results.map((one) => link(one.kind, one.name, one.url, one.fact));
    actions = results.filter((one) => one.forms).flatMap(actionsOf);
    show();
    status.textContent = `${entries.length} result${entries.length === 1 ? "" : "s"}`;
  }

  async function ask(text) {
    request = new AbortController();
    try {
      const answer = await fetch(`${lookup}?${new URLSearchParams({ q: text })}`, {
        headers: { Accept: "application/json" },
        signal: request.signal,
      });
      if (answer.redirected) return window.location.reload(); // logged out meanwhile
      if (!answer.ok) throw new Error(answer.status);
      take((await answer.json()).results);
    } catch (problem) {
      if (problem.name !== "AbortError") status.textContent = "The server did not answer, so names are missing.";
    }
  }

  function type() {
    const text = wanted.value.trim();
    window.clearTimeout(timer);
    request?.abort();
    hasMoved = false;
    status.textContent = "";
    objects = text ? matching(objects, text) : []; // until the server answers
    actions = text ? matching(actions, text) : [];
    show();
    if (text) timer = window.setTimeout(ask, WAIT_MS, text);
  }

  function open() {
    if (palette.open) return;
    wanted.value = "";
    type();
    palette.showModal();
    wanted.focus();
  }

  wanted.addEventListener("input", type);
  palette.addEventListener("close", () => {
    window.clearTimeout(timer);
    request?.abort();
  });
  palette.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      chosen = (chosen + step + entries.length) % Math.max(1, entries.length);
      hasMoved = true;
      mark();
    } else if (event.key === "Enter" && !event.isComposing) {
      run(entries[chosen]);
    } else if (event.key === "Escape") { // a search field would only empty itself
      palette.close();
    } else return;
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "k") return;
    event.preventDefault();
    open();
  });
  opener.hidden = false;
  opener.addEventListener("click", open);
})();
