import { OptionError } from '../base/errors.js';
import { allFlags } from './command.js';
import { COMMANDS } from './commands.js';

const USAGE = `Usage: millrace completion bash|zsh

Prints what the shell needs to complete commands and flags:

  eval "$(millrace completion bash)"
  millrace completion zsh >> ~/.zshrc
`;

/**
 * What a shell needs to complete commands and their flags: `eval "$(millrace completion bash)"`.
 *
 * @throws OptionError for another shell than bash and zsh.
 */
export async function completionFor(shell: string | undefined): Promise<string> {
  if (shell === '--help' || shell === '-h') return USAGE;
  if (shell !== 'bash' && shell !== 'zsh')
    throw new OptionError('arguments', 'millrace completion needs the shell: bash or zsh');
  const names = Object.keys(COMMANDS).map(name => name.split(' '));
  const first = [...new Set(names.map(([word]) => word)), 'service', 'completion'];
  const nested = names.filter(words => words.length > 1);
  const families = [...new Set(nested.map(([word]) => word))];
  const cases = await Promise.all(
    Object.entries(COMMANDS).map(async ([name, { load }]) => {
      const words = allFlags(await load()).map(flag => flag.name);
      return `    '${name}') words='${words.map(word => `--${word}`).join(' ')}' ;;\n`;
    }),
  );
  const seconds = [...nested, ['service', 'check']];
  const second = [...families, 'service'].map(family => {
    const words = seconds.filter(([word]) => word === family).map(([, word]) => word);
    return `    '${family}') [ "$COMP_CWORD" -eq 2 ] && words='${words.join(' ')}' ;;\n`;
  });
  return `${shell === 'zsh' ? 'autoload -U +X bashcompinit && bashcompinit\n' : ''}_millrace() {
  local words='' name="\${COMP_WORDS[1]}"
  case "$name" in
${second.join('')}  esac
  case "$name" in
    ${families.join('|')}) name="$name \${COMP_WORDS[2]}" ;;
  esac
  [ "$COMP_CWORD" -eq 1 ] && words='${first.join(' ')}'
  [ -z "$words" ] && case "$name" in
${cases.join('')}  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _millrace millrace
`;
}
