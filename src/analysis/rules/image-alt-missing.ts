import { listedFacts, pageRule } from '../rule.ts';

export const imageAltMissing = pageRule({
  id: 'image.alt_missing',
  severity: 'medium',
  title: 'Images have no text alternative',
  why: 'Who cannot see an image, be it by a screen reader or because it does not load, does not learn what it shows.',
  fix: 'Give each <img> an alt attribute that says what the image shows; an empty one (alt="") where it only decorates.',
  check(page) {
    const imagesWithoutAlt = listedFacts(page)?.imagesWithoutAlt ?? 0;
    return imagesWithoutAlt > 0 ? [{ imagesWithoutAlt }] : [];
  },
});
