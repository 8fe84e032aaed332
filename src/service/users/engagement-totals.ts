import type { EngagementRequest, Group } from './engagement-request.js';
import type { Engagements } from './engagements.js';

type Totals = { readonly [group: string]: Totals | string };

/** The groupings of an answer (service.md 4.8), nested in the order of their `group_by`; counts are strings. */
export function engagementTotals(
  { types, groupings }: Pick<EngagementRequest, 'types' | 'groupings'>,
  engagements: ReadonlyMap<string, Engagements>,
): Readonly<Record<string, Totals>> {
  const ids = [...engagements.keys()];
  const total = (ofIds: readonly string[], ofTypes: EngagementRequest['types']): string => {
    let sum = 0;
    for (const id of ofIds)
      for (const type of ofTypes) sum += (engagements.get(id) as Engagements)[type];
    return String(sum);
  };
  const nest = (
    groups: readonly Group[],
    ofIds: readonly string[],
    ofTypes: EngagementRequest['types'],
  ): Totals | string => {
    const [group, ...rest] = groups;
    if (group === undefined) return total(ofIds, ofTypes);
    return Object.fromEntries(
      group === 'tweet.id'
        ? ofIds.map(id => [id, nest(rest, [id], ofTypes)])
        : ofTypes.map(type => [type, nest(rest, ofIds, [type])]),
    );
  };
  return Object.fromEntries(
    [...groupings].map(([name, groups]) => [name, nest(groups, ids, types) as Totals]),
  );
}
