// Colours of the picture; the page's own are in style.css. Chosen to be told apart on a projector and by the colour-blind.
export interface Palette {
  background: string; fog: string; ground: string; grid: string; sky: string; ink: string; muted: string;
}
export const LIGHT: Palette = {
  background: '#eef1f4', fog: '#eef1f4', ground: '#dfe4e9', grid: '#bcc5ce', sky: '#ffffff', ink: '#1c2430', muted: '#6b7685',
};
export const DARK: Palette = {
  background: '#161a20', fog: '#161a20', ground: '#2c343e', grid: '#4a5663', sky: '#aab8cc', ink: '#e8ecf1', muted: '#8b96a5',
};

export const FORCE = {
  normal: '#f0980c', tangential: '#1f8fe0', impulse: '#d6249f', indeterminate: '#c3cbd6',
  stick: '#1fa35b', slip: '#e0342b', roll: '#12a0a8', open: '#9aa3ae', cone: '#f0980c', ghost: '#e06c1f', moment: '#8a5cf0',
};

/** Series of charts. */
export const SERIES = ['#2f7de1', '#f0980c', '#1fa35b', '#d6249f', '#12a0a8', '#8a5cf0', '#e0342b', '#8a6d3b', '#6b7685'];

export const VERDICT_COLOURS = ['#9aa3ae', '#1fa35b', '#f0c419', '#d6249f', '#e0342b'];
export const VERDICT_TEXT = ['undecided', 'unique', 'motion unique, forces not', 'several motions', 'no solution'];
