// Refusals in words for people: what happened, and what to do now.

const who = (detail) => detail.decided_by ?? 'somebody';
const did = { approved: 'approved', rejected: 'rejected', cancelled: 'withdrew', expired: 'let expire', revoked: 'revoked', consumed: 'approved' };

export function ago(at, now) {
  const seconds = Math.max(0, Math.round((Date.parse(now) - Date.parse(at)) / 1000));
  const steps = [[86400, 'day'], [3600, 'hour'], [60, 'minute'], [1, 'second']];
  const [size, unit] = steps.find(([s]) => seconds >= s) ?? steps[3];
  const n = Math.floor(seconds / size);
  return seconds === 0 ? 'just now' : `${n} ${unit}${n === 1 ? '' : 's'} ago`;
}

function decided(detail, now) {
  if (detail.status === 'cancelled') return 'The agent withdrew this call.';
  if (detail.status === 'expired') return 'The time to decide is over.';
  const when = detail.decided_at ? ` ${ago(detail.decided_at, now)}` : '';
  const ran = detail.status === 'consumed' ? ' It has been used since.' : '';
  return `${who(detail)} ${did[detail.status] ?? 'decided'} this${when}.${ran}`;
}

const problems = {
  edits_not_allowed: 'This tool does not let reviewers change arguments. Approve or reject it as it is.',
};

const words = {
  already_decided: decided,
  already_consumed: decided,
  not_approved: decided,
  vote_locked: () => 'Your approval stands. It can become a rejection, but this was not one.',
  self_approval: () => 'You asked for this, or it was asked for in your name. Somebody else has to decide.',
  not_eligible: () => 'This is for another group of reviewers. Nothing was changed.',
  actor_not_allowed: () => 'This inbox may not speak for you. Ask an administrator to register its login.',
  tool_denied: () => 'Policy denies the corrected action. The request waits as it was.',
  tool_frozen: () => 'This tool is frozen. Nothing runs until an administrator lifts the freeze.',
  not_found: () => 'There is no such request, or it is not yours to see.',
  expired: () => 'The time to decide is over. The agent has to ask again.',
  stale_view: () => 'This changed after it was shown to you. Look at it again, then decide.',
  stale_state: () => 'It is not in a state for that any more.',
  policy_changed: () => 'Policy has become stricter since. The agent has to ask again.',
  tool_changed: () => 'The tool is no longer the one that was reviewed. The agent has to ask again.',
  row_tampered: () => 'The stored request does not match its seal. Do not run it, and call an administrator.',
  claimed: (detail) => `${detail.claimed_by ?? 'Somebody else'} has claimed it.`,
  not_canonical: (detail) => `These arguments have no exact form${detail.path ? ` at ${detail.path}` : ''}. Send long numbers as text.`,
  bad_decision: (detail) => problems[detail.problem] ?? 'This is not a decision that can be taken.',
  outcome_conflict: () => 'Another outcome is recorded already.',
  too_large: () => 'These arguments are too large.',
  wrong_password: () => 'Name or password is wrong.',
  csrf: () => 'This did not come from the page as it is. Reload it and try again.',
  origin: () => 'This did not come from the page. Nothing was decided.',
  unanswered: () => 'The connection to the database broke. Perhaps this was done: look at the request again before you rely on either.',
  streams: () => 'Too many pages of yours are open.',
  quota: () => 'There is too much waiting already.',
};

const kinds = {
  400: 'This request was not understood.',
  401: 'Please sign in.',
  403: 'You may not do that.',
  404: 'There is no such request, or it is not yours to see.',
  409: 'Somebody was faster.',
  410: 'Too late.',
  412: 'This is no longer what was shown.',
  413: 'That is too much at once.',
  422: 'This cannot be done like that.',
  423: 'Somebody else has claimed it.',
  429: 'Too many tries. Wait a minute.',
  500: 'Something went wrong here. Nothing was decided.',
  503: 'The database cannot be reached just now. Nothing was decided; try again.',
};

export function inWords(http, reason, detail = {}, now = new Date().toISOString()) {
  return words[reason]?.(detail, now) ?? kinds[http] ?? kinds[500];
}
