// Buttons that copy the text of another element.
"use strict";

(() => {
  function show() {
    document.querySelectorAll("[data-ojs-copy]").forEach((button) => { button.hidden = false; });
  }

  // Without TLS a browser has no `navigator.clipboard`, but it copies a selection.
  function copySelected(source) {
    const selection = window.getSelection();
    selection.selectAllChildren(source);
    const isCopied = document.execCommand("copy");
    if (isCopied) selection.removeAllRanges(); // otherwise the user copies the selected text
    return isCopied;
  }

  async function copy(source) {
    try {
      await navigator.clipboard.writeText(source.textContent);
      return true;
    } catch {
      return copySelected(source);
    }
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-ojs-copy]");
    if (!button) return;
    const label = button.firstChild; // before the part for screen readers
    const isCopied = await copy(document.getElementById(button.dataset.ojsCopy));
    label.textContent = isCopied ? "Copied" : "Selected";
    button.addEventListener("blur", () => { label.textContent = "Copy"; }, { once: true });
  });
  document.addEventListener("ojs:fresh", show);
  show();
})();
