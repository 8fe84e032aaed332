import { OptionError } from '../base/errors.js';
import type { Format } from '../post/activity.js';
import type { Archive } from './archive/archive.js';
import { openFolderArchive } from './archive/folder/folder-archive.js';
import { visibleArchive } from './archive/visible-archive.js';
import type { ServiceContext } from './context.js';
import { joinedArchive, PostsArchive } from './posts/posts-archive.js';
import { openSampleArchive } from './sample/sample-archive.js';
import type { Settings } from './service-options.js';

/** The exact posts are in addition to those of a folder, an `Archive` or generated ones. */
type ArchiveParts = Pick<ServiceContext, 'clock' | 'posts' | 'compliance'>;

/** The posts of a service, by format: an archive for each, opened on first use. */
export class ServiceArchives {
  readonly #settings: Settings;
  readonly #parts: ArchiveParts;
  #archive: Promise<Archive> | undefined;
  /** The archive with the posts of the other format. */
  #other: Promise<Archive> | undefined;

  constructor(settings: Settings, parts: ArchiveParts) {
    this.#settings = settings;
    this.#parts = parts;
  }

  /** The posts that compliance events do not hide; by default in the archive's own format. */
  async visible(format?: Format): Promise<Archive> {
    const { clock, compliance } = this.#parts;
    return visibleArchive(await this.open(format), compliance, () => clock.now());
  }

  /**
   * All posts.
   *
   * @throws OptionError for a format that the archive does not have.
   */
  async open(format?: Format): Promise<Archive> {
    this.#archive ??= this.#openArchive(this.#settings.format);
    const main = await this.#archive;
    if (format === undefined || format === main.format) return main;
    this.#parts.posts.in(format); // refuses a format that they do not have
    this.#other ??= this.#openArchive(format);
    return this.#other;
  }

  /** They can be opened again. */
  async close(): Promise<void> {
    const archives = [this.#archive, this.#other];
    this.#archive = undefined;
    this.#other = undefined;
    // An archive that was passed in is closed by the caller.
    if (typeof this.#settings.archive === 'object') return;
    for (const archive of archives)
      await archive?.then(
        opened => opened.close(),
        () => {}, // an archive that failed to open is not closed
      );
  }

  async #openArchive(asked: Format | undefined): Promise<Archive> {
    const { posts, clock } = this.#parts;
    const others = await this.#openOthers(asked);
    const format = others?.format ?? asked ?? posts.format;
    if (asked === this.#settings.format) posts.open(format);
    const exact = new PostsArchive(posts, format, () => clock.now());
    return others === undefined ? exact : joinedArchive(exact, others);
  }

  /** The posts besides the exact ones; undefined where the service has only exact ones. */
  async #openOthers(asked: Format | undefined): Promise<Archive | undefined> {
    const { archive, seed, postsPerMinute } = this.#settings;
    if (typeof archive === 'string') return openFolderArchive(archive, { format: asked });
    if (archive === undefined) {
      if (postsPerMinute === 0) return undefined;
      const now = () => this.#parts.clock.now();
      const format = asked ?? this.#parts.posts.format;
      return openSampleArchive({ seed, format, postsPerMinute, now });
    }
    if (asked === undefined || asked === archive.format) return archive;
    throw new OptionError('format', `The archive has posts of the format ${archive.format} only`);
  }
}
