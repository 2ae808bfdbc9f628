//! The only file that says HiGHS.

/// The version of the HiGHS that is linked in, such as `1.14.0`.
pub fn version() -> String {
    // SAFETY: these take nothing and return constants.
    let (major, minor, patch) = unsafe {
        (
            highs_sys::Highs_versionMajor(),
            highs_sys::Highs_versionMinor(),
            highs_sys::Highs_versionPatch(),
        )
    };
    format!("{major}.{minor}.{patch}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_linked_highs_is_older_than_1_15() {
        // 1.15.x has reported wrong answers on warm-started LPs.
        let version = super::version();
        let minor: u32 = version.split('.').nth(1).expect("three parts").parse().expect("a number");
        assert!(version.starts_with("1.") && minor < 15, "{version}");
    }
}
