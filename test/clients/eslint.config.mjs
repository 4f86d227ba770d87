// For the examples and their tests: test/clients/node_modules/.bin/eslint -c test/clients/eslint.config.mjs docs/examples test/clients
import js from '@eslint/js';
import vue from 'eslint-plugin-vue';
import globals from 'globals';

const common = {
  'no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
  eqeqeq: 'error',
  'no-var': 'error',
  'prefer-const': 'error',
  'no-eval': 'error',
  'no-implied-eval': 'error',
};

export default [
  { ignores: ['**/node_modules/**'] },
  js.configs.recommended,
  ...vue.configs['flat/recommended'],
  {
    files: ['**/*.{js,mjs}'],
    languageOptions: { ecmaVersion: 2023, sourceType: 'module', globals: globals.node },
    rules: common,
  },
  { files: ['**/*.cjs'], languageOptions: { ecmaVersion: 2023, sourceType: 'commonjs', globals: globals.node }, rules: common },
  { files: ['docs/examples/*/public/**/*.js'], languageOptions: { globals: globals.browser } },
  {
    files: ['**/*.vue'],
    languageOptions: { globals: globals.browser },
    // Line breaks of templates are as those of the rest: by sense, not by count.
    rules: {
      ...common,
      'vue/max-attributes-per-line': 'off',
      'vue/singleline-html-element-content-newline': 'off',
      'vue/multiline-html-element-content-newline': 'off',
      'vue/html-closing-bracket-newline': 'off',
      'vue/first-attribute-linebreak': 'off',
      'vue/html-indent': 'off',
      'vue/multi-word-component-names': ['error', { ignores: ['App'] }],
    },
  },
  { files: ['test/clients/**/*.mjs'], languageOptions: { globals: { ...globals.node, ...globals.browser } } },
];
