// Who has to agree, and who is missing still.  One person takes one seat, whatever groups
// that person is in, so votes are matched to seats.
const ANYBODY = '*';

// [[group, how many], ...]
export function seatsOf({ reviewers, reviewer_group: group, approvals_needed: needed }) {
  return Object.entries(reviewers ?? { [group ?? ANYBODY]: needed });
}

function seatsFor(request, { groups }) {
  const standIn = request.escalated_at && groups.includes(request.escalate_to);
  return seatsOf(request).flatMap(([group], i) => (group === ANYBODY || standIn || groups.includes(group) ? [i] : []));
}

// Whoever has left the groups rejects still, and approves no more.
export const counts = (request, vote) => vote.stands && (vote.verdict === 'reject' || seatsFor(request, vote).length > 0);

// How many sit where, with as many seated as can be: whoever comes may send others to seats they fit as well.
function seated(seats, people) {
  const taken = seats.map(() => []);
  function place(person, tried) {
    return people[person].some((seat) => {
      if (tried.has(seat)) return false;
      tried.add(seat);
      if (taken[seat].length < seats[seat][1]) return taken[seat].push(person) > 0;
      const at = taken[seat].findIndex((other) => place(other, tried));
      if (at >= 0) taken[seat][at] = person;
      return at >= 0;
    });
  }
  people.forEach((_, person) => place(person, new Set()));
  return taken.map((list) => list.length);
}

const sum = (list) => list.reduce((a, b) => a + b, 0);

// n, and of which groups: so many of each, or where somebody sits on one of several seats
// (either), of any of these.
export function missing(request) {
  const seats = seatsOf(request);
  const people = request.votes.filter((v) => v.verdict === 'approve' && counts(request, v)).map((v) => seatsFor(request, v));
  const taken = seated(seats, people);
  const n = sum(seats.map(([, needed], i) => needed - taken[i]));
  const helps = seats.filter((_, i) => sum(seated(seats, [...people, [i]])) > sum(taken)).map(([group]) => group);
  const either = helps.length > 1 && people.some((places) => places.length > 1);
  return { n, either, of: either ? helps.map((group) => [group, n]) : seats.map(([group, needed], i) => [group, needed - taken[i]]).filter(([, open]) => open > 0) };
}

export const voteOf = (request, actor) => request.votes.find((v) => v.actor === actor && counts(request, v))?.verdict ?? null;
