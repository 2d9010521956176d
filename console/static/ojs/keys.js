// Keyboard shortcuts: / searches, j and k move between rows, x selects one, Ctrl-K opens the palette, ? lists all.
"use strict";

(() => {
  const SEARCHES = ["[data-ojs-search]", "main input:is([type=search], [type=text], :not([type]))"];
  const palette = document.getElementById("palette");
  const help = document.getElementById("help");
  if (!palette) return; // nobody is logged in

  const wanted = palette.querySelector("input");
  const list = palette.querySelector("[role=listbox]");
  let commands = [];
  let chosen = 0;

  function all() {
    const pages = [...document.querySelectorAll(".top nav a")].map((link) => ({
      label: link.textContent.trim(),
      run: () => window.location.assign(link.href),
    }));
    const themes = ["system", "light", "dark"].map((theme) => ({
      label: `Theme: ${theme}`,
      run: () => {
        localStorage.setItem("ojs.theme", theme);
        document.documentElement.dataset.theme = theme;
        document.dispatchEvent(new Event("ojs:theme"));
      },
    }));
    const zones = [["my time zone", ""], ["UTC", "UTC"]].map(([label, zone]) => ({
      label: `Times in ${label}`,
      run: () => {
        localStorage.setItem("ojs.zone", zone);
        document.dispatchEvent(new Event("ojs:zone"));
      },
    }));
    return [...pages, ...themes, ...zones, { label: "Keyboard shortcuts", run: () => help.showModal() }];
  }

  function found(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const some = all().filter((one) => words.every((w) => one.label.toLowerCase().includes(w)));
    const jobs = palette.dataset.jobs;
    if (/^[0-9a-f-]{32,36}$/i.test(text)) {
      some.unshift({
        label: `Job ${text}`,
        run: () => window.location.assign(`${jobs}${encodeURIComponent(text)}/`),
      });
    } else if (text) {
      for (const [label, name] of [["Jobs of queue", "queue"], ["Jobs of type", "type"]]) {
        const query = new URLSearchParams({ [name]: text });
        some.push({ label: `${label} ${text}`, run: () => window.location.assign(`${jobs}?${query}`) });
      }
    }
    return some;
  }

  function show() {
    commands = found(wanted.value.trim());
    chosen = Math.min(chosen, Math.max(0, commands.length - 1));
    list.replaceChildren(
      ...commands.map((one, n) => {
        const item = document.createElement("li");
        item.id = `command-${n}`;
        item.role = "option";
        item.ariaSelected = String(n === chosen);
        item.textContent = one.label;
        item.addEventListener("click", () => run(one));
        return item;
      }),
    );
    wanted.setAttribute("aria-activedescendant", commands.length ? `command-${chosen}` : "");
    list.children[chosen]?.scrollIntoView({ block: "nearest" });
  }

  function run(command) {
    palette.close();
    command?.run();
  }

  function open() {
    wanted.value = "";
    chosen = 0;
    show();
    palette.showModal();
    wanted.focus();
  }

  wanted.addEventListener("input", () => {
    chosen = 0;
    show();
  });
  palette.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      chosen = (chosen + step + commands.length) % Math.max(1, commands.length);
      show();
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(commands[chosen]);
    }
  });

  function step(by) {
    const rows = [...document.querySelectorAll("main table tbody tr, main .rows li")];
    const links = rows.map((row) => row.querySelector("a[href]")).filter(Boolean);
    const now = links.indexOf(document.activeElement);
    const next = links[now < 0 ? (by > 0 ? 0 : links.length - 1) : now + by];
    next?.focus();
  }

  const keys = {
    "/": () => SEARCHES.map((one) => document.querySelector(one)).find(Boolean)?.focus(),
    j: () => step(1),
    k: () => step(-1),
    x: () => document.activeElement.closest("tr")?.querySelector("input[form=chosen]")?.click(),
    p: () => document.querySelector("#pause:not([hidden])")?.click(),
    "?": () => help.showModal(),
  };

  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "k") {
      event.preventDefault();
      if (!palette.open) open();
      return;
    }
    const isTyping = event.target.closest("input:not([type=checkbox]), textarea, select, dialog[open]");
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  // The row that has the focus stands out.
  document.addEventListener("focusin", (event) => {
    document.querySelectorAll("tr.here").forEach((row) => row.classList.remove("here"));
    event.target.closest("[data-ojs-rows] tbody tr")?.classList.add("here");
  });
  document.getElementById("palette-open")?.addEventListener("click", open);
})();
