export async function page() {}
