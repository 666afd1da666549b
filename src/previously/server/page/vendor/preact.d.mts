export type Child = unknown;
export type Props = { children?: Child; key?: string | number; [name: string]: any };
export type VNode = { type: unknown; props: Props };
export const h: (type: any, props?: any, ...children: any[]) => VNode;
export const Fragment: (props: Props) => any;
export function render(node: any, parent: Element): void;
export function createContext<T>(initial: T): { Provider: (props: { value: T; children?: Child }) => any; _: T };
