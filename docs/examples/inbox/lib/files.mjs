// The page: static files, Vue itself, and the components, which are compiled once
// at the start, so that the page needs no eval and nobody a build step.
import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname, join } from 'node:path';
import { compileScript, parse } from 'vue/compiler-sfc';

const types = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8', '.css': 'text/css; charset=utf-8', '.svg': 'image/svg+xml' };
const VUE = '/vendor/vue.js';

function compiled(file, source) {
  const { descriptor, errors } = parse(source, { filename: file });
  if (errors.length > 0) throw new Error(`${file}: ${errors[0].message}`);
  const { content } = compileScript(descriptor, { id: file, inlineTemplate: true });
  return content.replace(/(from\s*|import\s*)(["'])vue\2/g, `$1$2${VUE}$2`);
}

function vueFile() {
  const directory = createRequire(import.meta.url).resolve('vue/package.json').replace(/package\.json$/, '');
  return readFileSync(join(directory, 'dist/vue.runtime.esm-browser.prod.js'));
}

export function pageFiles(directory) {
  const files = new Map([[VUE, { type: types['.js'], content: vueFile() }]]);

  for (const name of readdirSync(directory)) {
    const source = readFileSync(join(directory, name), 'utf8');
    if (extname(name) === '.vue') files.set(`/${name}`, { type: types['.js'], content: compiled(name, source) });
    else if (types[extname(name)]) files.set(`/${name}`, { type: types[extname(name)], content: source });
  }
  files.set('/', files.get('/index.html'));
  return files;
}
