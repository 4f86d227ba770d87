import { createApp } from '/vendor/vue.js';
import App from './App.vue';

createApp(App).mount('#app');
