// A button that appears under a finger that is on its way must not be pressed.
import { onUnmounted, ref } from '/vendor/vue.js';

const PAUSE = 500;

export function arming() {
  const armed = ref(false);
  let timer = null;

  function arm() {
    armed.value = false;
    clearTimeout(timer);
    timer = setTimeout(() => { armed.value = true; }, PAUSE);
  }
  onUnmounted(() => clearTimeout(timer));
  return { armed, arm };
}
