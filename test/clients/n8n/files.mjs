// The workflow files of the example, with the settings that the test needs in
// their node "Settings", as somebody who imports them edits it.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = join(dirname(fileURLToPath(import.meta.url)), '../../../docs/examples/n8n');

export const workflows = () => readdirSync(folder).filter((name) => name.endsWith('.json')).sort()
  .map((name) => ({ file: name, ...JSON.parse(readFileSync(join(folder, name), 'utf8')) }));

export function withSettings(workflow, settings) {
  for (const node of workflow.nodes.filter((n) => n.name === 'Settings')) {
    for (const assignment of node.parameters.assignments.assignments) {
      if (!(assignment.name in settings)) throw new Error(`no setting ${assignment.name}`);
      assignment.value = settings[assignment.name];
    }
  }
  return workflow;
}
