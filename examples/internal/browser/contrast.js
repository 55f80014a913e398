// The texts whose contrast with their background is below 4.5.
(() => {
	const light = c => {
		const [r, g, b] = c.match(/[\d.]+/g).map(Number).map(x => (x /= 255) <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const faults = [];
	for (const e of document.querySelectorAll("body *")) {
		if (!e.checkVisibility() || e.closest("script, :disabled") ||
			![...e.childNodes].some(n => n.nodeType === Node.TEXT_NODE && n.textContent.trim())) continue;
		let box = e;
		while (box.parentElement && getComputedStyle(box).backgroundColor === "rgba(0, 0, 0, 0)") box = box.parentElement;
		const style = getComputedStyle(e);
		const [a, b] = [e.closest("svg") ? style.fill : style.color, getComputedStyle(box).backgroundColor].map(light);
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (!(ratio >= 4.5)) faults.push(e.tagName + " " + e.textContent.trim().slice(0, 30) + " " + ratio.toFixed(2));
	}
	return faults.join("\n");
})()
