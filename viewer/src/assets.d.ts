declare module '*.gz' { const base64: string; export default base64; }
declare module '*.css' { const text: string; export default text; }
declare module 'feed:worker' { const source: string; export default source; }
