import type { Browser, Page } from 'playwright-core';
export function chromiumPath(): string;
export function launch(): Promise<Browser>;
export function openViewer(browser: Browser, o?: { query?: string; width?: number; height?: number; url?: string }): Promise<{ page: Page; said: string[] }>;
